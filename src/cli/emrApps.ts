import { readFile } from 'node:fs/promises';
import { addEmrApp, appDestinations, findEmrApp, listEmrApps, removeEmrApp } from '../accounts/emrApps.ts';
import type { Config } from '../config.ts';
import { connectors } from '../connectors/index.ts';
import type { Tx } from '../db/database.ts';
import { ApiError, apiError, StartFailure } from '../errors.ts';
import { parseId } from '../ids.ts';
import { checkNewApp } from '../link/checkEmrApp.ts';
import type { Vault } from '../security/vault.ts';
import { readLogo } from './createClient.ts';
import { findClient } from './findClient.ts';
import { type JsonOption, printResult } from './output.ts';
import { command_line, withAudit } from './withAudit.ts';

type Values = JsonOption & {
  client?: string | undefined;
  name?: string | undefined;
  emr?: string | undefined;
  address?: string | undefined;
  logo?: string | undefined;
  'credentials-file'?: string | undefined;
  'mrn-system'?: string | undefined;
  'mrn-type'?: string | undefined;
  app?: string | undefined;
};
type Work = { tx: Tx; client_id: string; vault: Vault };
/** What the audit record is about, and what is printed. */
type Done = { subject: string; detail?: Record<string, unknown>; value: unknown; text: string };

/** Lists, adds or removes the EMR apps of a client. Works whether or not the service is running. */
export async function emrAppsCommand(config: Config, what: string | undefined, values: Values): Promise<void> {
  const work = { list, add, remove }[what ?? ''];
  if (!work) throw new StartFailure('Specify an action: list, add or remove. See: chartwire help');
  try {
    const { value, text } = await withAudit(config, async (db, audit, { vault }) => {
      const client_id = await findClient(db, values.client);
      return db.tenant(client_id, async (tx) => {
        const done = await work({ tx, client_id, vault }, config, values);
        const outcome = { list: 'listed', add: 'added', remove: 'removed' }[what ?? ''] ?? '';
        await audit.recordInTransaction(tx, {
          client_id,
          ...command_line,
          action: `emr_app.${what}`,
          outcome,
          subject: done.subject,
          detail: done.detail,
        });
        return done;
      });
    });
    printResult(values, value, text);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new StartFailure(error.message, { cause: error });
  }
}

async function list({ tx, client_id, vault }: Work): Promise<Done> {
  const apps = await listEmrApps({ vault }, tx);
  const emr_apps = apps.map(({ id, name, connector, emr_address, mrn_system, mrn_type, credentials, accounts }) => ({
    ...{ emr_app_id: id, name, emr: connector, address: emr_address, way: credentials.way, accounts },
    ...{ mrn_system, mrn_type },
  }));
  const lines = emr_apps.map((app) => {
    const values = [app.emr_app_id, app.name, app.emr, app.address ?? '(default)', app.way, `${app.accounts} accounts`];
    const mrn = [app.mrn_system, app.mrn_type].filter((each) => each !== null);
    return [...values, ...(mrn.length > 0 ? [`MRN: ${mrn.join(' ')}`] : [])].join('  ');
  });
  return { subject: client_id, value: { emr_apps }, text: `${lines.join('\n') || 'No EMR apps.'}\n` };
}

async function add({ tx, client_id, vault }: Work, config: Config, values: Values): Promise<Done> {
  if (!values.name) throw new StartFailure('A name is required: --name "Hillside Clinic"');
  const credentials = await readCredentials(values['credentials-file']);
  const logo = values.logo === undefined ? null : await readLogo(values.logo);
  const { name, emr = '', address = null } = values;
  const mrn = { mrn_system: values['mrn-system'] ?? null, mrn_type: values['mrn-type'] ?? null };
  const app = checkNewApp({ config, connectors }, { name, logo, emr, emr_address: address, credentials, ...mrn });
  const id = await addEmrApp({ vault }, tx, { client_id, ...app });
  if (id === undefined) throw apiError('emr_app_exists');
  const detail = { destinations: appDestinations(undefined, app) };
  return { subject: id, detail, value: { emr_app_id: id }, text: `emr_app_id ${id}\n` };
}

async function remove({ tx, vault }: Work, _config: Config, values: Values): Promise<Done> {
  const id = parseId(values.app ?? '');
  const app = id && (await findEmrApp({ vault }, tx, id));
  if (!app) throw new StartFailure('--app must be the ID of an EMR app of this client.');
  const used = await removeEmrApp(tx, app.id);
  if (used > 0) throw apiError('emr_app_in_use', { count: String(used) });
  const detail = { destinations: appDestinations(app, undefined) };
  return { subject: app.id, detail, value: { emr_app_id: app.id }, text: 'Removed.\n' };
}

/** A file, because other users of the machine can see command lines. */
async function readCredentials(path: string | undefined): Promise<Record<string, string>> {
  const example = '{"way":"client_secret","client_id":"…","client_secret":"…"}';
  if (!path) throw new StartFailure(`--credentials-file is required: a JSON file such as ${example}`);
  try {
    const parsed: unknown = JSON.parse(await readFile(path, 'utf8'));
    const entries = Object.entries(Object(parsed));
    if (entries.length > 0 && entries.every(([, value]) => typeof value === 'string')) {
      return Object.fromEntries(entries) as Record<string, string>;
    }
  } catch (cause) {
    throw new StartFailure(`--credentials-file: cannot read ${path} as JSON.`, { cause });
  }
  throw new StartFailure(`--credentials-file must contain an object of strings, such as ${example}`);
}
