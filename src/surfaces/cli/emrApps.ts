import { readFile } from 'node:fs/promises';
import { ApiError, apiError, StartFailure } from '../../catalog/errors.ts';
import { parseId } from '../../catalog/ids.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { EndpointPins } from '../../emr/endpointPins.ts';
import { loadConnectors } from '../../emr/outside/outsideConnectors.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import { describeCertificate, describeCertificates } from '../../platform/security/certificates.ts';
import type { SystemKeys } from '../../platform/security/masterKeys.ts';
import type { Vault } from '../../platform/security/vault.ts';
import {
  type AppCertificates,
  describeCertificateChange,
  type SentCertificates,
} from '../../product/accounts/appCertificates.ts';
import {
  addEmrApp,
  appDestinations,
  changeEmrApp,
  type EmrApp,
  findEmrApp,
  listEmrApps,
  removeEmrApp,
} from '../../product/accounts/emrApps.ts';
import type { Context } from '../../product/context.ts';
import { checkAppChanges, checkNewApp, keySetUrl, returnAddress } from '../../product/link/registrations.ts';
import { command_line, findClient, withAudit } from './audit.ts';
import { readLogo } from './credentials.ts';
import { readCredentialsFile } from './credentialsFile.ts';
import { type JsonOption, printResult } from './output.ts';

type Values = JsonOption & {
  client?: string | undefined;
  name?: string | undefined;
  emr?: string | undefined;
  host?: string[] | undefined;
  'token-endpoint'?: string | undefined;
  'authorization-endpoint'?: string | undefined;
  issuer?: string | undefined;
  'tenant-path'?: string | undefined;
  logo?: string | undefined;
  'credentials-file'?: string | undefined;
  'certificate-file'?: string | false | undefined;
  'certificate-key-file'?: string | undefined;
  'ca-file'?: string | false | undefined;
  'mrn-system'?: string | undefined;
  'mrn-type'?: string | undefined;
  app?: string | undefined;
};
type Work = { tx: Tx; client_id: string; vault: Vault; db: Database; system_keys: SystemKeys } & Installation;
type Installation = Pick<Context, 'config' | 'connectors'>;
/** What the audit record is about, and what is printed. */
type Done = { subject: string; detail?: Record<string, unknown>; value: unknown; text: string };

/** Lists, adds, changes or removes the EMR apps of a client. Works whether or not the service is running. */
export async function emrAppsCommand(config: Config, what: string | undefined, values: Values): Promise<void> {
  const work = { list, add, change, remove }[what ?? ''];
  if (!work) throw new StartFailure('Specify an action: list, add, change or remove. See: chartwire emr-apps --help');
  const { connectors } = await loadConnectors(config);
  try {
    const { value, text } = await withAudit(config, async (db, audit, { vault, system_keys }) => {
      const client_id = await findClient(db, values.client);
      return db.tenant(client_id, async (tx) => {
        const done = await work({ tx, client_id, vault, db, system_keys, config, connectors }, values);
        const outcome = { list: 'listed', add: 'added', change: 'changed', remove: 'removed' }[what ?? ''] ?? '';
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

async function list({ tx, client_id, vault, ...installation }: Work, values: Values): Promise<Done> {
  const apps = await listEmrApps({ vault }, tx);
  const emr_apps = apps.map((app) => ({
    ...{ emr_app_id: app.id, name: app.name, emr: app.connector, hosts: app.hosts, way: app.credentials.way },
    ...{ token_endpoint: app.token_endpoint, authorization_endpoint: app.authorization_endpoint, issuer: app.issuer },
    ...{ tenant_path: app.tenant_path, scope: app.scope, header_names: Object.keys(app.headers) },
    ...{ search_params: app.search_params, bulk_group: app.bulk_group },
    ...{ certificate: app.certificate && describeCertificate(app.certificate) },
    ...{ authorities: app.ca_certificates === null ? [] : describeCertificates(app.ca_certificates) },
    ...{ requests_counted_per: app.requests_counted_per },
    ...{ accounts: app.accounts, registered: app.registered, mrn_system: app.mrn_system, mrn_type: app.mrn_type },
    ...describeRegistration(installation, values, app),
  }));
  const lines = emr_apps.map((app) => {
    const columns = [app.emr_app_id, app.name, app.emr, app.hosts.join(',') || '(no hosts)', app.way];
    const mrn = [app.mrn_system, app.mrn_type].filter((each) => each !== null);
    const more = [
      ...(mrn.length > 0 ? [`MRN: ${mrn.join(' ')}`] : []),
      ...(app.registered ? [] : ['no client ID yet']),
      ...(app.certificate ? [`certificate until ${app.certificate.expires_at.slice(0, 10)}`] : []),
    ];
    return [...columns, `${app.accounts} accounts`, ...more].join('  ');
  });
  return { subject: client_id, value: { emr_apps }, text: `${lines.join('\n') || 'No EMR apps.'}\n` };
}

async function add({ tx, client_id, config, connectors, ...keys }: Work, values: Values): Promise<Done> {
  if (!values.name) throw new StartFailure('A name is required: --name "Hillside Clinic"');
  const { credentials, fields } = await readCredentialsFile(values['credentials-file']);
  const logo = values.logo === undefined ? null : await readLogo(values.logo);
  const { name, emr = '', host } = values;
  const hosts = [...(host ?? fields.hosts ?? [])];
  const mrn = { mrn_system: values['mrn-system'] ?? null, mrn_type: values['mrn-type'] ?? null };
  const app_input = {
    name,
    logo,
    emr,
    ...fields,
    hosts,
    credentials,
    ...endpointsIn(values),
    ...mrn,
    ...(await readPems(values)),
  };
  const app = checkNewApp({ config, connectors }, app_input);
  const id = await addEmrApp(keys, tx, { client_id, ...app });
  return saved({ config, connectors }, values, { id, ...app }, undefined);
}

/** Changes what the options name. An EMR issues a client ID after it was told the app's URLs. */
async function change({ tx, config, connectors, ...keys }: Work, values: Values): Promise<Done> {
  const app = await findNamed(keys, tx, values);
  const file = values['credentials-file'];
  const { fields: { hosts, ...fields } = {}, ...sent } = file === undefined ? {} : await readCredentialsFile(file);
  const changed = checkAppChanges({ config, connectors }, app, {
    ...sent,
    ...fields,
    ...(hosts && { hosts: [...hosts] }),
    ...(values.name !== undefined && { name: values.name }),
    ...(values.logo !== undefined && { logo: await readLogo(values.logo) }),
    ...(values.host !== undefined && { hosts: values.host }),
    ...(values['mrn-system'] !== undefined && { mrn_system: values['mrn-system'] }),
    ...(values['mrn-type'] !== undefined && { mrn_type: values['mrn-type'] }),
    ...endpointsIn(values),
    ...(await readPems(values)),
  });
  await changeEmrApp({ ...keys, connectors }, tx, changed);
  return saved({ config, connectors }, values, changed, app);
}

async function remove({ tx, vault }: Work, values: Values): Promise<Done> {
  const app = await findNamed({ vault }, tx, values);
  const used = await removeEmrApp(tx, app.id);
  if (used > 0) throw apiError('emr_app_in_use', { count: String(used) });
  const detail = { destinations: appDestinations(app, undefined) };
  return { subject: app.id, detail, value: { emr_app_id: app.id }, text: 'Removed.\n' };
}

async function findNamed({ vault }: Pick<Work, 'vault'>, tx: Tx, { app: app_id }: Values): Promise<EmrApp> {
  const id = parseId(app_id ?? '');
  const app = id && (await findEmrApp({ vault }, tx, id));
  if (!app) throw new StartFailure('--app must be the ID of an EMR app of this client.');
  return app;
}

/** Certificates and the key from files; `--no-…` removes them. */
async function readPems(values: Values): Promise<SentCertificates> {
  const { 'certificate-file': certificate, 'certificate-key-file': key, 'ca-file': authorities } = values;
  if (certificate === false && key !== undefined) {
    throw new StartFailure('--no-certificate-file and --certificate-key-file exclude each other.');
  }
  return {
    ...(typeof certificate === 'string' && { certificate: await readPem('--certificate-file', certificate) }),
    ...(key !== undefined && { certificate_key: await readPem('--certificate-key-file', key) }),
    ...(typeof authorities === 'string' && { ca_certificates: await readPem('--ca-file', authorities) }),
    ...(certificate === false && { certificate: null, certificate_key: null }),
    ...(authorities === false && { ca_certificates: null }),
  };
}

function readPem(option: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new StartFailure(`${option}: cannot read the file ${path}.`, { cause });
  });
}

function endpointsIn(values: Values) {
  return {
    ...(values['token-endpoint'] !== undefined && { token_endpoint: values['token-endpoint'] }),
    ...(values['authorization-endpoint'] !== undefined && { authorization_endpoint: values['authorization-endpoint'] }),
    ...(values.issuer !== undefined && { issuer: values.issuer }),
    ...(values['tenant-path'] !== undefined && { tenant_path: values['tenant-path'] }),
  };
}

type SavedApp = Pick<EmrApp, 'id' | 'connector' | 'credentials' | keyof EndpointPins | keyof AppCertificates>;

function saved(installation: Installation, values: Values, app: SavedApp, before: EmrApp | undefined): Done {
  const detail = { destinations: appDestinations(before, app), ...describeCertificateChange(before, app) };
  const value = { emr_app_id: app.id, ...describeRegistration(installation, values, app) };
  const lines = Object.entries(value).map(([name, text]) => `${name} ${text}\n`);
  return { subject: app.id, detail, value, text: lines.join('') };
}

/** The URL that must be registered with the EMR. */
function describeRegistration(
  { config, connectors }: Installation,
  { client = '' }: Values,
  { id, connector, credentials }: SavedApp,
) {
  const ways = connectors.get(connector)?.sign_in_ways ?? [];
  const must_register = ways.find(({ name }) => name === credentials.way)?.must_register;
  if (must_register === 'key_set') return { key_set_url: keySetUrl(config, client, id) };
  return must_register === 'return_address' ? { redirect_uri: returnAddress(config, id) } : {};
}
