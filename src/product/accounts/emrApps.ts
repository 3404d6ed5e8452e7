import { apiError } from '../../catalog/errors.ts';
import { newId } from '../../catalog/ids.ts';
import type { Credentials, EmrEndpoint } from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import { type EndpointPins, matchHost } from '../../emr/endpointPins.ts';
import {
  missingParams,
  practiceParams,
  type RequestSettings,
  type SearchConstants,
  sameParams,
} from '../../emr/requestSettings.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';
import { type DestinationChange, destinationChanges } from '../../platform/security/outbound.ts';
import { clientKeys } from '../../platform/security/signingKeys.ts';
import type { Context } from '../context.ts';
import { unparkJobs } from '../jobs/park.ts';
import { reactivateAccounts } from './accounts.ts';
import {
  type AppCertificates,
  readCertificates,
  type SealedCertificates,
  sealCertificates,
  unsealCertificates,
  withCertificates,
} from './appCertificates.ts';
import type { MrnSetting } from './capabilities.ts';
import { claimPairs, type PairContext } from './emrAppPairs.ts';

/**
 * Our registration at an EMR: the sign-in method, the client ID and the secret that an operator configured once for all
 * accounts at its hosts.
 */
export type EmrApp = {
  id: string;
  client_id: string;
  name: string;
  logo: string | null;
  connector: string;
  /** False: the EMR has not issued a client ID yet, and the app is not used. */
  registered: boolean;
  /** Whether the EMR has to fetch our public keys. */
  uses_key_set: boolean;
  credentials: Credentials;
  created_at: Date;
} & AppEndpoint &
  AppCertificates &
  MrnSetting;

/** Where the credentials of an app may go, and what is sent with its requests. */
export type AppEndpoint = EndpointPins & RequestSettings;

/** The audit detail of an added, changed or deleted app: the servers that get its credentials. */
export function appDestinations(
  before: EndpointPins | undefined,
  after: EndpointPins | undefined,
): DestinationChange[] {
  return destinationChanges('emr_app', listServers(before), listServers(after));
}

function listServers(pins: EndpointPins | undefined): string[] {
  if (!pins) return [];
  const { hosts, token_endpoint, authorization_endpoint } = pins;
  return [...hosts, token_endpoint, authorization_endpoint].filter((each) => each !== null && each !== undefined);
}

type VaultContext = Pick<Context, 'vault'>;
type Row = Omit<EmrApp, 'credentials' | 'headers' | 'certificate_key'> & {
  credentials_sealed: Buffer;
  headers_sealed: Buffer | null;
} & SealedCertificates;

/** How many accounts use an app, and how often and when for the last time its key set was fetched. */
type Usage = { accounts: number; key_fetches: number; keys_fetched_at: Date | null };
export type ListedApp = EmrApp & Usage;

export async function listEmrApps(ctx: VaultContext, tx: Tx): Promise<ListedApp[]> {
  const rows = await tx<(Row & Usage)[]>`
    SELECT ${columns(tx)}, key_fetches, keys_fetched_at,
           (SELECT count(*) FROM accounts WHERE emr_app_id = emr_apps.id AND status <> 'revoked') AS accounts
      FROM emr_apps ORDER BY name, id`;
  return Promise.all(rows.map((row) => unsealed(ctx, tx, row)));
}

export async function findEmrApp(ctx: VaultContext, tx: Tx, id: string): Promise<EmrApp | undefined> {
  const [row] = await tx<Row[]>`SELECT ${columns(tx)} FROM emr_apps WHERE id = ${id}`;
  return row && unsealed(ctx, tx, row);
}

/** Whether the client has this app, registered or not: its key set is published before. */
export async function hasEmrApp({ db }: Pick<Context, 'db'>, client_id: string, id: string): Promise<boolean> {
  const rows = await db.read(client_id, (sql) => sql`SELECT 1 AS found FROM emr_apps WHERE id = ${id}`);
  return rows.length > 0;
}

/** Where the credentials of an app may go, and what is sent with its requests. */
async function readEndpoint(
  { db, vault }: Pick<Context, 'db' | 'vault'>,
  client_id: string,
  id: string,
): Promise<(AppEndpoint & AppCertificates) | undefined> {
  type Stored = Omit<AppEndpoint, 'headers'> & { headers_sealed: Buffer | null } & SealedCertificates;
  const [row] = await db.read<Stored>(
    client_id,
    (sql) => sql`SELECT ${endpointColumns(sql)}, ${certificateColumns(sql)}, headers_sealed
      FROM emr_apps WHERE id = ${id}`,
  );
  if (!row) return undefined;
  const { headers_sealed, certificate_key_sealed: _, ...endpoint } = row;
  const certificates = await readCertificates({ db, vault }, { id, client_id }, row);
  if (!headers_sealed) return { ...endpoint, ...certificates, headers: {} };
  const headers =
    vault.unsealInMemory(headers_sealed, headersBinding(id)) ??
    (await db.tenant(client_id, (tx) => vault.unseal(tx, headers_sealed, headersBinding(id))));
  return { ...endpoint, ...certificates, headers: JSON.parse(headers) };
}

/** The client's apps for an EMR, the one with the exact host first. */
export async function matchEmrApps(
  ctx: VaultContext,
  tx: Tx,
  emr: { connector: string; emr_address: string },
): Promise<EmrApp[]> {
  const rows = await tx<Row[]>`
    SELECT ${columns(tx)} FROM emr_apps WHERE connector = ${emr.connector} AND registered ORDER BY id`;
  const matches = rows.map((row) => ({ row, match: matchHost(row.hosts, emr.emr_address) }));
  const ordered = (['exact', 'wildcard'] as const).flatMap((kind) => matches.filter(({ match }) => match === kind));
  return Promise.all(ordered.map(({ row }) => unsealed(ctx, tx, row)));
}

export type NewEmrApp = Omit<EmrApp, 'id' | 'created_at'>;
type SaveContext = VaultContext & PairContext;

/** Throws if another app has one of the hosts, or the same client ID at the same token endpoint. */
export async function addEmrApp(ctx: SaveContext, tx: Tx, app: NewEmrApp): Promise<string> {
  const id = newId();
  const { client_id, name, logo, connector, hosts, token_endpoint, authorization_endpoint, issuer } = app;
  const tls = await sealCertificates(ctx, tx, { id, ...app });
  await tx`
    INSERT INTO emr_apps (id, client_id, name, logo, connector, hosts, token_endpoint, authorization_endpoint, issuer,
      tenant_path, registered, mrn_system, mrn_type, scope, search_params, bulk_group, requests_counted_per,
      uses_key_set, credentials_sealed, headers_sealed, certificate, certificate_key_sealed, certificate_expires_at,
      ca_certificates)
    VALUES (${id}, ${client_id}, ${name}, ${logo}, ${connector}, ${[...hosts]}, ${token_endpoint},
      ${authorization_endpoint}, ${issuer}, ${app.tenant_path}, ${app.registered}, ${app.mrn_system}, ${app.mrn_type},
      ${app.scope}, ${JSON.stringify(app.search_params)}::text::jsonb, ${app.bulk_group},
      ${app.requests_counted_per}, ${app.uses_key_set},
      ${await sealedCredentials(ctx, tx, { id, ...app })}, ${await sealedHeaders(ctx, tx, { id, ...app })},
      ${tls.certificate}, ${tls.certificate_key_sealed}, ${tls.certificate_expires_at}::text::timestamptz,
      ${tls.ca_certificates})`;
  await requireUnclaimed(ctx, tx, { id, ...app });
  return id;
}

/**
 * Accounts of the app use its new credentials at their next sign-in. Those that expired because the EMR had refused the
 * old ones are retried, with their parked jobs. Throws if linked accounts would search for another practice.
 */
export async function changeEmrApp(ctx: SaveContext & Pick<Context, 'connectors'>, tx: Tx, app: EmrApp): Promise<void> {
  await requireSamePractice(tx, app);
  const [sealed, headers_sealed] = [await sealedCredentials(ctx, tx, app), await sealedHeaders(ctx, tx, app)];
  const tls = await sealCertificates(ctx, tx, app);
  await tx`UPDATE emr_apps SET name = ${app.name}, logo = ${app.logo}, hosts = ${[...app.hosts]},
      token_endpoint = ${app.token_endpoint}, authorization_endpoint = ${app.authorization_endpoint},
      issuer = ${app.issuer}, tenant_path = ${app.tenant_path}, registered = ${app.registered}, mrn_system = ${app.mrn_system},
      mrn_type = ${app.mrn_type}, scope = ${app.scope}, search_params = ${JSON.stringify(app.search_params)}::text::jsonb,
      bulk_group = ${app.bulk_group}, requests_counted_per = ${app.requests_counted_per},
      uses_key_set = ${app.uses_key_set}, credentials_sealed = ${sealed}, headers_sealed = ${headers_sealed},
      certificate = ${tls.certificate}, certificate_key_sealed = ${tls.certificate_key_sealed},
      certificate_expires_at = ${tls.certificate_expires_at}::text::timestamptz, ca_certificates = ${tls.ca_certificates}
    WHERE id = ${app.id}`;
  await requireUnclaimed(ctx, tx, app);
  const parallel_max = ctx.connectors.get(app.connector)?.limits.parallel_max ?? 1;
  for (const account_id of await reactivateAccounts(tx, app.id)) await unparkJobs(tx, account_id, parallel_max);
}

/** Counts fetches of key sets: an app for each time that its key set was fetched. */
export async function addKeyFetches(tx: Tx, app_ids: readonly string[]): Promise<void> {
  await tx`UPDATE emr_apps SET key_fetches = key_fetches + counted.n, keys_fetched_at = now()
      FROM (SELECT id, count(*) AS n FROM unnest(${[...app_ids]}::uuid[]) AS id GROUP BY id) AS counted
     WHERE emr_apps.id = counted.id`;
}

/** Deletes an app that no linked account uses. Returns how many do. */
export async function removeEmrApp(tx: Tx, id: string): Promise<number> {
  // Locked, so that no account starts to use it in the meantime.
  await tx`SELECT FROM emr_apps WHERE id = ${id} FOR UPDATE`;
  const used = await countAccounts(tx, id);
  if (used === 0) await tx`DELETE FROM emr_apps WHERE id = ${id}`;
  return used;
}

/** The records of accounts that are linked are those of the practice that the search parameters name. */
async function requireSamePractice(tx: Tx, { id, search_params }: Pick<EmrApp, 'id' | 'search_params'>): Promise<void> {
  // Locked, as before a deletion.
  const [stored] = await tx<Pick<EmrApp, 'search_params'>[]>`
    SELECT search_params FROM emr_apps WHERE id = ${id} FOR UPDATE`;
  if (!stored || sameParams(stored.search_params, search_params)) return;
  const used = await countAccounts(tx, id);
  if (used > 0) throw apiError('emr_app_in_use', { count: String(used) }, { field: 'search_params' });
}

async function countAccounts(tx: Tx, id: string): Promise<number> {
  const [{ used } = { used: 0 }] = await tx<{ used: number }[]>`
    SELECT count(*) AS used FROM accounts WHERE emr_app_id = ${id} AND status <> 'revoked'`;
  return used;
}

/** An app is chosen by host, so a host belongs to one app of a client. */
async function requireUnclaimed(ctx: SaveContext, tx: Tx, app: Omit<EmrApp, 'created_at'>): Promise<void> {
  // Takes the lock under which the hosts of apps that are saved at once are compared, too.
  await claimPairs(ctx, tx, app);
  const [same] = await tx<{ hosts: string[] }[]>`
    SELECT hosts FROM emr_apps WHERE connector = ${app.connector} AND id <> ${app.id} AND hosts && ${[...app.hosts]}`;
  const host = same?.hosts.find((each) => app.hosts.includes(each));
  if (host !== undefined) throw apiError('emr_app_exists', { host }, { field: 'hosts' });
}

function columns(sql: Query): Fragment {
  return sql`id, client_id, name, logo, connector, ${endpointColumns(sql)}, registered, uses_key_set, mrn_system,
    mrn_type, credentials_sealed, headers_sealed, ${certificateColumns(sql)}, created_at`;
}

function certificateColumns(sql: Query): Fragment {
  return sql`certificate, certificate_key_sealed, ca_certificates`;
}

function endpointColumns(sql: Query): Fragment {
  return sql`hosts, token_endpoint, authorization_endpoint, issuer, tenant_path, scope, search_params, bulk_group,
    requests_counted_per`;
}

function sealedCredentials(
  { vault }: VaultContext,
  tx: Tx,
  { id, client_id, credentials }: Pick<EmrApp, 'id' | 'client_id' | 'credentials'>,
): Promise<Buffer> {
  return vault.seal(tx, { client_id, owner_id: client_id }, toBinding(id), JSON.stringify(credentials));
}

/** Null: the app sends none. */
async function sealedHeaders(
  { vault }: VaultContext,
  tx: Tx,
  { id, client_id, headers }: Pick<EmrApp, 'id' | 'client_id' | 'headers'>,
): Promise<Buffer | null> {
  if (Object.keys(headers).length === 0) return null;
  return vault.seal(tx, { client_id, owner_id: client_id }, headersBinding(id), JSON.stringify(headers));
}

async function unsealed<Stored extends Row>({ vault }: VaultContext, tx: Tx, stored: Stored) {
  const { credentials_sealed, headers_sealed, certificate_key_sealed: _, ...row } = stored;
  // Both were sealed here from values of these types.
  const credentials = JSON.parse(await vault.unseal(tx, credentials_sealed, toBinding(row.id)));
  const headers = headers_sealed ? JSON.parse(await vault.unseal(tx, headers_sealed, headersBinding(row.id))) : {};
  const certificates = await unsealCertificates({ vault }, tx, row.id, stored);
  return { ...row, ...certificates, credentials, headers };
}

function headersBinding(id: string): string {
  return `emr_app_headers:${id}`;
}

function toBinding(id: string): string {
  return `emr_app:${id}`;
}

export type EndpointContext = Pick<Context, 'db' | 'vault' | 'emr_outbound'>;

/** The EMR of an account or a link, with the keys of its client and no others, and where its credentials may go. */
export async function emrEndpoint(ctx: EndpointContext, emr: EmrOfAccount, signal: AbortSignal): Promise<EmrEndpoint> {
  const app = await findEndpoint(ctx, emr);
  return { ...bareEndpoint(ctx, emr, app, signal), ...toEndpoint(app, emr.search_params) };
}

/** Without search parameters: signing out searches nothing, and tokens are revoked even if a practice has no parameters. */
export async function signOutEndpoint(
  ctx: EndpointContext,
  emr: EmrOfAccount,
  signal: AbortSignal,
): Promise<EmrEndpoint> {
  const app = await findEndpoint(ctx, emr);
  return { ...bareEndpoint(ctx, emr, app, signal), ...toEndpoint(app && { ...app, search_params: {} }, {}) };
}

async function findEndpoint(ctx: EndpointContext, { client_id, emr_app_id }: EmrOfAccount) {
  return emr_app_id === null ? undefined : readEndpoint(ctx, client_id, emr_app_id);
}

function bareEndpoint(
  ctx: EndpointContext,
  { client_id, emr_address, emr_app_id: id }: EmrOfAccount,
  app: (AppEndpoint & AppCertificates) | undefined,
  signal: AbortSignal,
) {
  const outbound =
    app && id !== null ? withCertificates(ctx.emr_outbound, emr_address, { ...app, id }) : ctx.emr_outbound;
  return { address: emr_address, outbound, signal, keys: clientKeys(ctx, client_id) };
}

export type EmrOfAccount = {
  client_id: string;
  emr_address: string;
  emr_app_id: string | null;
  search_params: SearchConstants;
};

/**
 * What an app adds to the endpoint of an EMR. Throws if the parameters that keep a practice apart from the others at its
 * address would not be complete: its searches would find the records of all.
 */
export function toEndpoint(
  app: AppEndpoint | undefined,
  own_params: SearchConstants,
): Pick<EmrEndpoint, 'pins' | keyof RequestSettings> {
  if (!app && Object.keys(own_params).length > 0) {
    throw new EmrFailure('login_required', 'Search parameters are used with an EMR app only. Link the account again.');
  }
  const missing = missingParams(app?.search_params ?? {}, own_params);
  if (missing.length > 0) {
    const message = `The search parameters that name the practice are not set: ${missing.join(', ')}. Link the account again.`;
    throw new EmrFailure('login_required', message);
  }
  if (!app) return {};
  const { scope, headers, search_params, bulk_group, requests_counted_per } = app;
  // Nothing else of the app, such as its key, is given to connectors.
  const { hosts, token_endpoint, authorization_endpoint, issuer, tenant_path } = app;
  const pins = { hosts, token_endpoint, authorization_endpoint, issuer, tenant_path };
  return {
    pins,
    scope,
    headers,
    search_params: practiceParams(search_params, own_params),
    bulk_group,
    requests_counted_per,
  };
}
