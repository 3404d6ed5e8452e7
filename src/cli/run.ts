import { parseArgs } from 'node:util';
import { loadConfig } from '../config.ts';
import { StartFailure } from '../errors.ts';
import { roles } from '../main.ts';
import { version } from '../version.ts';
import { reanchorAuditCommand, verifyAuditCommand } from './audit.ts';
import { backupCommand } from './backup.ts';
import { certifyCommand } from './certify.ts';
import { createClientCommand } from './createClient.ts';
import { emrAppsCommand } from './emrApps.ts';
import { eraseCommand } from './erase.ts';
import { resetOperatorCommand } from './resetOperator.ts';
import { markRestoredCommand, restoreCommand } from './restore.ts';
import { rotateKeysCommand } from './rotateKeys.ts';
import { serve } from './serve.ts';

const usage = `chartwire ${version}

  chartwire serve [--role all|api|worker]     run the service (default: all)
                    [--allow-nobody]          accept that root runs the embedded database as "nobody"
  chartwire clients create --name NAME        create a client; its secret is shown once
                    [--mode live|test] [--callback-url URL]... [--frame-origin ORIGIN]...
                    [--logo FILE] [--colour '#rrggbb']
  chartwire operators reset --email EMAIL     reset the password of an operator
  chartwire connectors certify NAME --address URL --credentials-file FILE
                    [--write-synthetic-records] [--patient-mrn MRN] [--one-time-code CODE] [--only CHECK]
                    [--empty-lists listOrders,…]
                                              test a connector against a live EMR and print a report;
                                              read-only by default
  chartwire erase client   --client CLIENT_ID [--yes]
  chartwire erase practice --client CLIENT_ID --org ORG_ID [--yes]
  chartwire erase patient  --client CLIENT_ID --org ORG_ID --patient ID_OR_MRN [--yes]
                                              delete everything stored; without --yes only count it
  chartwire audit verify [--anchor-file FILE]...
                                              verify the audit log, also against further files of anchors
  chartwire audit reanchor                    accept the audit log as it is, after a restore from a backup
  chartwire emr-apps list   --client CLIENT_ID
  chartwire emr-apps add    --client CLIENT_ID --emr EMR --name NAME --credentials-file FILE
                    [--address URL] [--logo FILE] [--mrn-system URI] [--mrn-type CODE]
                                              store the client ID that an EMR issued, so that staff need not enter it;
                                              without --address it is the default
  chartwire emr-apps remove --client CLIENT_ID --app APP_ID
  chartwire keys rotate                       create new signing keys for EMRs that use the published key set
  chartwire backup --to FILE [--passphrase-file FILE] [--verify]
                                              write an encrypted backup of the embedded database, also while the
                                              service runs; --verify starts a scratch server on it
  chartwire restore --from FILE --data-dir DIR [--passphrase-file FILE]
                                              restore a backup into an empty folder
  chartwire restore mark --backup-time TIME   tell the service that the database of DATABASE_URL was restored from a
                                              backup of that time; run it before the service starts
  chartwire help                              show this help

Settings are environment variables, or lines of a .env file next to package.json. See .env.example.
`;

/** Runs one command. An error that the user can fix prints its message, without a stack trace, and sets exit code 1. */
export async function run(argv: string[]): Promise<void> {
  try {
    await dispatch(argv);
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

async function dispatch(argv: string[]): Promise<void> {
  const { values, positionals } = parse(argv);
  const command = positionals.join(' ');
  const config = (more: Record<string, string> = {}) =>
    loadConfig({ ...process.env, ...(values['allow-nobody'] ? { ALLOW_NOBODY: 'on' } : {}), ...more });
  if (values.help || command === 'help' || argv.length === 0) process.stdout.write(usage);
  else if (values.version) process.stdout.write(`${version}\n`);
  else if (command === 'serve') await serve(config(), roleOf(values.role));
  else if (command === 'clients create') await createClientCommand(config(), values);
  else if (command === 'operators reset') await resetOperatorCommand(config(), values.email);
  else if (command === 'keys rotate') await rotateKeysCommand(config());
  else if (command === 'audit verify') await verifyAuditCommand(config(), values['anchor-file'] ?? []);
  else if (command === 'backup') await backupCommand(config(), values);
  else if (command === 'restore') await restoreCommand(config, values);
  else if (command === 'restore mark') await markRestoredCommand(config(), values['backup-time']);
  else if (command === 'audit reanchor') await reanchorAuditCommand(config());
  else if (positionals[0] === 'emr-apps' && positionals.length <= 2)
    await emrAppsCommand(config(), positionals[1], values);
  else if (positionals[0] === 'erase' && positionals.length <= 2) await eraseCommand(config(), positionals[1], values);
  else if (command.startsWith('connectors certify')) {
    await certifyCommand(config(), positionals[2], values);
  } else throw new StartFailure(`Unknown command '${command}'. See: chartwire help`);
}

function parse(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        'allow-nobody': { type: 'boolean' },
        'anchor-file': { type: 'string', multiple: true },
        role: { type: 'string', default: 'all' },
        email: { type: 'string' },
        name: { type: 'string' },
        mode: { type: 'string' },
        'callback-url': { type: 'string', multiple: true },
        'frame-origin': { type: 'string', multiple: true },
        logo: { type: 'string' },
        colour: { type: 'string' },
        address: { type: 'string' },
        'credentials-file': { type: 'string' },
        'mrn-system': { type: 'string' },
        'mrn-type': { type: 'string' },
        'one-time-code': { type: 'string' },
        'patient-mrn': { type: 'string' },
        'write-synthetic-records': { type: 'boolean' },
        app: { type: 'string' },
        emr: { type: 'string' },
        'empty-lists': { type: 'string' },
        client: { type: 'string' },
        org: { type: 'string' },
        patient: { type: 'string' },
        to: { type: 'string' },
        from: { type: 'string' },
        'data-dir': { type: 'string' },
        'backup-time': { type: 'string' },
        'passphrase-file': { type: 'string' },
        verify: { type: 'boolean' },
        yes: { type: 'boolean' },
        only: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
      },
    });
  } catch (error) {
    throw new StartFailure(`${(error as Error).message} See: chartwire help`, { cause: error });
  }
}

function roleOf(text: string): (typeof roles)[number] {
  const role = roles.find((candidate) => candidate === text);
  if (!role) throw new StartFailure(`--role must be one of ${roles.join(', ')}, not '${text}'.`);
  return role;
}
