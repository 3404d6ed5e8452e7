import { Argument, type Command, Option } from 'commander';
import type { Config } from '../../catalog/settings/config.ts';
import type { Environment } from '../../catalog/settings/settingValues.ts';
import { utc_option } from './output.ts';
import { addRetention } from './retentionCommands.ts';
import type { LoadService } from './serve.ts';

/** The commands that run on the server with its settings. Their exit code for any error is 1. */
export const administration: readonly string[] = [
  ...[
    'serve',
    'doctor',
    'clients',
    'operators',
    'connectors',
    'erase',
    'retention',
    'holds',
    'disposals',
    'audit',
    'alerts',
    'emr-apps',
    'directory',
    'keys',
    'backup',
    'restore',
  ],
];

/** Adds them. Their modules load the service, so each is imported only when its command runs. */
export function addAdministration(program: Command, env: Environment, loadService: LoadService): void {
  const config = async (more: Environment = {}): Promise<Config> =>
    (await import('../../catalog/settings/config.ts')).loadConfig(env, more);
  addServe(program, config, loadService);
  program
    .command('doctor')
    .description('check settings, database, keys, network, clock, disk and ports, and suggest fixes')
    .option(...json)
    .action(async (options) => (await import('./doctor.ts')).doctorCommand(env, options));
  addClients(program, config);
  addConnectors(program, config);
  addErase(program, config);
  addRetention(program, config);
  addAudit(program, config);
  addAlerts(program, config);
  addEmrApps(program, config);
  addDirectory(program, config);
  addBackups(program, config, env);
}

const json = ['--json', 'print JSON'] as const;
type LoadConfig = (more?: Environment) => Promise<Config>;

function addServe(program: Command, config: LoadConfig, loadService: LoadService): void {
  program
    .command('serve')
    .description('run the service')
    .option('--role <role>', 'all, api or worker', 'all')
    .option('--allow-nobody', 'allow root to run the embedded database as "nobody"')
    .action(async ({ role, allowNobody }) => {
      const { parseRole, serve } = await import('./serve.ts');
      await serve(await config(allowNobody ? { ALLOW_NOBODY: 'on' } : {}), parseRole(role), loadService);
    });
}

function addClients(program: Command, config: LoadConfig): void {
  const clients = program.command('clients').description('manage clients');
  clients
    .command('list')
    .description('list clients, and where their requests may come from')
    .option(...json)
    .action(async (options) => (await import('./clients.ts')).listClientsCommand(await config(), options));
  clients
    .command('change')
    .description('set where requests of a client may come from; takes effect at once')
    .option('--client <client_id>', 'the client (required)')
    .addOption(repeated('--network <network>', 'an address or network, such as 10.0.0.0/8; repeatable; replaces all'))
    .option('--any-network', 'accept requests from anywhere')
    .addOption(
      repeated(
        '--certificate <certificate>',
        'a file, or SHA-256 fingerprint, of a certificate that requests must be sent with; repeatable; replaces all',
      ),
    )
    .option('--no-certificates', 'require no certificate')
    .option(...json)
    .action(async (options) => (await import('./clients.ts')).changeClientCommand(await config(), asWritten(options)));
  clients
    .command('create')
    .description('create a client; its secret is shown once')
    .option('--name <name>', 'name of the application (required)')
    .option('--mode <mode>', 'live or test')
    .addOption(repeated('--callback-url <url>', 'a URL that Link may redirect to; repeatable'))
    .addOption(repeated('--frame-origin <origin>', 'an origin that may embed Link; repeatable'))
    .option('--logo <file>', 'a .png, .jpg or .svg file')
    .option('--colour <#rrggbb>', 'button color in Link')
    .addOption(repeated('--network <network>', 'an address or network that requests may come from; repeatable'))
    .addOption(
      repeated(
        '--certificate <certificate>',
        'a file, or SHA-256 fingerprint, of a certificate that requests must be sent with; repeatable',
      ),
    )
    .option(...json)
    .action(async (options) =>
      (await import('./credentials.ts')).createClientCommand(await config(), asWritten(options)),
    );
  const operators = program.command('operators').description('manage and review dashboard operators');
  operators
    .command('review')
    .description('print the access report: operators, invitations and client secrets; or a review that was attested')
    .option('--id <review>', 'a review instead of the present report')
    .option('--list', 'list the reviews')
    .option('--csv', 'print CSV')
    .option(...json)
    .option(...utc_option)
    .action(async (options) => (await import('./operators.ts')).reviewOperatorsCommand(await config(), options));
  operators
    .command('enable')
    .description('enable an operator who was disabled by an owner, or after days of inactivity')
    .option('--email <email>', 'email address of the operator (required)')
    .option(...json)
    .action(async ({ email, json }) =>
      (await import('./operators.ts')).enableOperatorCommand(await config(), email, { json }),
    );
  operators
    .command('reset')
    .description('reset an operator’s password')
    .option('--email <email>', 'email address of the operator (required)')
    .option(...json)
    .action(async ({ email, json }) =>
      (await import('./operators.ts')).resetOperatorCommand(await config(), email, { json }),
    );
  const keys = program.command('keys').description('manage signing keys');
  keys
    .command('export')
    .description('print the public keys of a client as a key set (JWKS), to publish it elsewhere')
    .option('--client <client_id>', 'the client (required)')
    .option('--rsa-only', 'only RSA keys, for EMRs that accept no others')
    .action(async (options) => (await import('./credentials.ts')).exportKeysCommand(await config(), options));
  keys
    .command('rotate')
    .description('create new signing keys of a client, for EMRs that use its published key sets')
    .option('--client <client_id>', 'the client (required)')
    .option(...json)
    .action(async (options) => (await import('./credentials.ts')).rotateKeysCommand(await config(), options));
}

function addConnectors(program: Command, config: LoadConfig): void {
  const connectors = program.command('connectors').description('list, test or start writing connectors');
  connectors
    .command('list')
    .description('list the built-in connectors and those of CONNECTORS')
    .option(...json)
    .action(async (options) => (await import('./connectors.ts')).listConnectorsCommand(await config(), options));
  connectors
    .command('new <folder>')
    .description('create a folder with a working connector, named like the folder, and a server to try it with')
    .option(...json)
    .action(async (folder, options) => (await import('./newConnector.ts')).newConnectorCommand(folder, options));
  connectors
    .command('certify [name]')
    .description('test a connector against a live EMR and print a report; read-only by default')
    .option('--address <url>', 'URL of the EMR (required)')
    .option('--credentials-file <file>', 'JSON file with the credentials (required)')
    .option('--client <client_id>', 'sign in with the keys and the EMR app of this client')
    .option('--write-synthetic-records', 'also write synthetic records')
    .option('--patient-mrn <mrn>', 'the chart to use')
    .option('--merged-mrn <mrn>', 'a chart that was merged into another one')
    .option('--one-time-code <code>', 'one-time code for the sign-in')
    .option('--redirect-uri <uri>', 'for a sign-in on the EMR’s page: a redirect URI that the EMR knows')
    .addOption(repeated('--visit-type <type>', "for EMRs that do not list theirs: '5, Office visit, 15'; repeatable"))
    .option('--only <check>', 'run only the checks with this name')
    .option('--empty-lists <names>', 'lists that are empty in this EMR, such as listOrders,listClaims')
    .option(...json)
    .action(async (name, options) =>
      (await import('./certify.ts')).certifyCommand(await config(), name, asWritten(options)),
    );
}

function addErase(program: Command, config: LoadConfig): void {
  program
    .command('erase')
    .addArgument(new Argument('[what]').choices(['client', 'practice', 'patient']).argParser((what) => what))
    .description('delete everything stored about a client, practice or patient; without --yes, only count it')
    .option('--client <client_id>', 'the client (required)')
    .option('--org <org_id>', 'the practice')
    .option('--patient <id or mrn>', 'the patient')
    .option('--yes', 'erase it')
    .option(...json)
    .addHelpText('after', eraseExamples)
    .action(async (what, options) =>
      (await import('./erase.ts')).eraseCommand(await config(), what, asWritten(options)),
    );
}

const eraseExamples = `
Examples:
  $ chartwire erase client   --client CLIENT_ID
  $ chartwire erase practice --client CLIENT_ID --org ORG_ID --yes
  $ chartwire erase patient  --client CLIENT_ID --org ORG_ID --patient MRN --yes
`;

function addAudit(program: Command, config: LoadConfig): void {
  const audit = program.command('audit').description('verify or export the audit log, list disclosures');
  audit
    .command('verify')
    .description('verify the audit log, optionally against additional anchor files')
    .addOption(repeated('--anchor-file <file>', 'an anchor file; repeatable'))
    .addOption(new Option('--export <file>', 'verify this export (JSON lines) instead').conflicts('anchorFile'))
    .option(...json)
    .action(async ({ anchorFile = [], export: file, json }) => {
      const { verifyAuditCommand, verifyExportCommand } = await import('./audit.ts');
      if (file === undefined) await verifyAuditCommand(await config(), anchorFile, { json });
      else await verifyExportCommand(await config(), file, { json });
    });
  audit
    .command('export')
    .description('export audit records, with the hashes needed to verify them')
    .option('--since <time>', 'only records since this time, such as 2031-03-03 or 2031-03-03T14:00:00Z')
    .option('--until <time>', 'only records before this time')
    .option('--client <client_id>', 'only records of this client')
    .addOption(new Option('--format <format>', 'record format').choices(['jsonl', 'csv']).default('jsonl'))
    .option('--output <file>', 'output file; default: standard output')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print the number of records as JSON; needs --output')
    .action(async (options) => (await import('./audit.ts')).exportAuditCommand(await config(), options));
  audit
    .command('disclosures')
    .description('list who received data about a patient, and when')
    .option('--client <client_id>', 'the client (required); of an erased one, its ID in the audit log')
    .option('--org <org_id>', 'the practice; default: all practices of the client with this MRN')
    .option('--patient <mrn>', 'MRN of the patient (required); - reads it from the standard input')
    .option('--account <reference>', 'only what this linked account received (access_token_reference_id)')
    .option('--since <day>', 'first day in UTC, such as 2031-03-03; default: six years ago')
    .option('--until <day>', 'last day in UTC; default: today')
    .addOption(new Option('--format <format>', 'format').choices(['table', 'csv', 'json']).default('table'))
    .option('--output <file>', 'output file for csv and json; default: standard output')
    .option('--force', 'replace the file if it exists')
    .option('--verify', 'also count again from the audit log, and fail if that gives another result')
    .action(async (options) => (await import('./disclosures.ts')).disclosuresCommand(await config(), options));
  audit
    .command('reanchor')
    .description('accept the current audit log after a restore from a backup')
    .option(...json)
    .action(async (options) => (await import('./audit.ts')).reanchorAuditCommand(await config(), options));
}

function addAlerts(program: Command, config: LoadConfig): void {
  const alerts = program.command('alerts').description('list open alerts and test the alert channels');
  alerts
    .command('list')
    .description('list open alerts')
    .option(...json)
    .option(...utc_option)
    .action(async (options) => (await import('./alerts.ts')).listAlertsCommand(await config(), options));
  alerts
    .command('test')
    .description('send a test message to each configured channel')
    .option(...json)
    .action(async (options) => (await import('./alerts.ts')).testAlertsCommand(await config(), options));
}

function addEmrApps(program: Command, config: LoadConfig): void {
  program
    .command('emr-apps')
    .addArgument(new Argument('[what]').choices(['list', 'add', 'change', 'remove']).argParser((what) => what))
    .description('list, add, change or remove EMR apps: client IDs issued by an EMR, which staff then need not enter')
    .option('--client <client_id>', 'the client (required)')
    .option('--name <name>', 'add, change: name of the practice')
    .option('--emr <emr>', 'add: the EMR')
    .option('--credentials-file <file>', 'add, change: JSON file with the client ID that the EMR issued')
    .addOption(
      repeated('--host <host>', 'add, change: a host that the app is used for, such as *.example.org; repeatable'),
    )
    .option('--token-endpoint <url>', 'add, change: same_host (default), a URL, or a URL with {host} and {tenant}')
    .option('--authorization-endpoint <url>', 'add, change: the same for the EMR’s sign-in page')
    .option('--issuer <url>', 'add, change: the issuer, if it is not on the host of the sign-in page')
    .option('--tenant-path <path>', 'add, change: where the EMR’s address has {tenant}, such as /r4/{tenant}')
    .option('--certificate-file <file>', 'add, change: PEM file with the certificate that the EMR is shown')
    .option('--certificate-key-file <file>', 'add, change: PEM file with its private key')
    .option('--no-certificate-file', 'change: show the EMR no certificate')
    .option('--ca-file <file>', 'add, change: PEM file with authorities that the EMR’s certificate may come from')
    .option('--no-ca-file', 'change: only the public authorities')
    .option('--logo <file>', 'add, change: a .png, .jpg or .svg file')
    .option('--mrn-system <uri>', 'add, change: identifier system of the MRN')
    .option('--mrn-type <code>', 'add, change: identifier type of the MRN')
    .option('--app <app_id>', 'change, remove: the app')
    .option(...json)
    .action(async (what, options) =>
      (await import('./emrApps.ts')).emrAppsCommand(await config(), what, asWritten(options)),
    );
}

function addDirectory(program: Command, config: LoadConfig): void {
  const directory = program
    .command('directory')
    .description('manage the directory of practices, in which Link finds the EMR of a practice');
  directory
    .command('import <list>')
    .description('import a list of practices from a file or an https URL; a URL is read again every week')
    .option('--accept-removals', 'also remove practices if many of them are missing in the list')
    .option(...json)
    .action(async (list, options) =>
      (await import('./directory.ts')).importDirectoryCommand(await config(), list, asWritten(options)),
    );
  directory
    .command('list')
    .description('list the imported lists')
    .option(...json)
    .action(async (options) => (await import('./directory.ts')).listDirectoryCommand(await config(), options));
  directory
    .command('remove <list>')
    .description('remove a list and its practices; linked accounts stay as they are')
    .option(...json)
    .action(async (list, options) =>
      (await import('./directory.ts')).removeDirectoryCommand(await config(), list, options),
    );
}

function addBackups(program: Command, config: LoadConfig, env: Environment): void {
  program
    .command('backup')
    .description('write an encrypted backup of the embedded database, even while the service is running')
    .option('--to <file>', 'the file to write (required)')
    .option('--passphrase-file <file>', 'file with the passphrase; default: prompt')
    .option('--verify', 'verify the backup by starting a temporary server on it')
    .option('--portable', 'allow restoring on another platform or major version of PostgreSQL')
    .option(...json)
    .action(async (options) => (await import('./backup.ts')).backupCommand(await config(), asWritten(options)));
  const restore = program
    .command('restore')
    .description('restore a backup into an empty folder')
    .option('--from <file>', 'the backup (required)')
    .option('--data-dir <folder>', 'an empty folder (required)')
    .option('--passphrase-file <file>', 'file with the passphrase; default: prompt')
    .option(...json)
    .action(async (options) => {
      const { loadConfig } = await import('../../catalog/settings/config.ts');
      const load = (settings: Environment) => loadConfig(env, settings);
      await (await import('./backup.ts')).restoreCommand(load, asWritten(options));
    });
  restore
    .command('mark')
    .description('mark the database at DATABASE_URL as restored; run this before starting the service')
    .option('--backup-time <time>', 'when the backup was made (required)')
    .option(...json)
    .action(async ({ backupTime }, command: Command) =>
      (await import('./backup.ts')).markRestoredCommand(await config(), backupTime, command.optsWithGlobals()),
    );
}

function repeated(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value: string, before: string[] = []) => [...before, value]);
}

/** `callbackUrl` → `callback-url`: the commands use the names that people type, also in their messages. */
function asWritten(options: Record<string, unknown>): Record<string, never> {
  const written = Object.entries(options).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    value,
  ]);
  return Object.fromEntries(written);
}
