import { apiError } from '../../catalog/errors.ts';
import { newId } from '../../catalog/ids.ts';
import type { Credentials } from '../../emr/connector.ts';
import { type EndpointPins, matchHost } from '../../emr/endpointPins.ts';
import type { Context } from '../context.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';
import { unparkJobs } from '../jobs/park.ts';
import { type DestinationChange, destinationChanges } from '../../platform/security/destinations.ts';
import { reactivateAccounts } from './accounts.ts';
import { claimPairs, type PairContext } from './emrAppPairs.ts';
import type { MrnSetting } from './mrnRule.ts';

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
  credentials: Credentials;
  created_at: Date;
} & EndpointPins &
  MrnSetting;

/** The audit detail of an added, changed or deleted app: the servers that get its credentials. */
export function appDestinations(
  before: EndpointPins | undefined,
  after: EndpointPins | undefined,
): DestinationChange[] {
  return destinationChanges('emr_app', serversOf(before), serversOf(after));
}

function serversOf(pins: EndpointPins | undefined): string[] {
  if (!pins) return [];
  const { hosts, token_endpoint, authorization_endpoint } = pins;
  return [...hosts, token_endpoint, authorization_endpoint].filter((each) => each !== null && each !== undefined);
}

type VaultContext = Pick<Context, 'vault'>;
type Row = Omit<EmrApp, 'credentials'> & { credentials_sealed: Buffer };

export async function listEmrApps(ctx: VaultContext, tx: Tx): Promise<(EmrApp & { accounts: number })[]> {
  const rows = await tx<(Row & { accounts: number })[]>`
    SELECT ${columns(tx)},
           (SELECT count(*) FROM accounts WHERE emr_app_id = emr_apps.id AND status <> 'revoked') AS accounts
      FROM emr_apps ORDER BY name, id`;
  return Promise.all(rows.map(async (row) => ({ ...(await unsealed(ctx, tx, row)), accounts: row.accounts })));
}

export async function findEmrApp(ctx: VaultContext, tx: Tx, id: string): Promise<EmrApp | undefined> {
  const [row] = await tx<Row[]>`SELECT ${columns(tx)} FROM emr_apps WHERE id = ${id}`;
  return row && unsealed(ctx, tx, row);
}

/** Whether the client has this app, registered or not: its key set is published before. */
export async function hasEmrApp({ db }: Pick<Context, 'db'>, client_id: string, id: string): Promise<boolean> {
  const found = await db.read(client_id, (sql) => sql`SELECT 1 AS found FROM emr_apps WHERE id = ${id}`);
  return found.length > 0;
}

/** Where the credentials of an app may go. */
export async function readPins(
  { db }: Pick<Context, 'db'>,
  client_id: string,
  id: string,
): Promise<EndpointPins | undefined> {
  const [row] = await db.read<EndpointPins>(
    client_id,
    (sql) => sql`
      SELECT hosts, token_endpoint, authorization_endpoint, issuer, tenant_path FROM emr_apps WHERE id = ${id}`,
  );
  return row;
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
  await tx`
    INSERT INTO emr_apps (id, client_id, name, logo, connector, hosts, token_endpoint, authorization_endpoint, issuer,
      tenant_path, registered, mrn_system, mrn_type, credentials_sealed)
    VALUES (${id}, ${client_id}, ${name}, ${logo}, ${connector}, ${[...hosts]}, ${token_endpoint},
      ${authorization_endpoint}, ${issuer}, ${app.tenant_path}, ${app.registered}, ${app.mrn_system}, ${app.mrn_type},
      ${await sealedCredentials(ctx, tx, { id, ...app })})`;
  await requireUnclaimed(ctx, tx, { id, ...app });
  return id;
}

/**
 * Accounts of the app use its new credentials at their next sign-in. Those that expired because the EMR had refused the
 * old ones are retried, with their parked jobs.
 */
export async function changeEmrApp(ctx: SaveContext & Pick<Context, 'connectors'>, tx: Tx, app: EmrApp): Promise<void> {
  const sealed = await sealedCredentials(ctx, tx, app);
  await tx`UPDATE emr_apps SET name = ${app.name}, logo = ${app.logo}, hosts = ${[...app.hosts]},
      token_endpoint = ${app.token_endpoint}, authorization_endpoint = ${app.authorization_endpoint},
      issuer = ${app.issuer}, tenant_path = ${app.tenant_path}, registered = ${app.registered}, mrn_system = ${app.mrn_system},
      mrn_type = ${app.mrn_type}, credentials_sealed = ${sealed}
    WHERE id = ${app.id}`;
  await requireUnclaimed(ctx, tx, app);
  const parallel_max = ctx.connectors.get(app.connector)?.limits.parallel_max ?? 1;
  for (const account_id of await reactivateAccounts(tx, app.id)) await unparkJobs(tx, account_id, parallel_max);
}

/** Deletes an app that no linked account uses. Returns how many do. */
export async function removeEmrApp(tx: Tx, id: string): Promise<number> {
  // Locked, so that no account starts to use it in the meantime.
  await tx`SELECT FROM emr_apps WHERE id = ${id} FOR UPDATE`;
  const [{ used } = { used: 0 }] = await tx<{ used: number }[]>`
    SELECT count(*) AS used FROM accounts WHERE emr_app_id = ${id} AND status <> 'revoked'`;
  if (used === 0) await tx`DELETE FROM emr_apps WHERE id = ${id}`;
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
  return sql`id, client_id, name, logo, connector, hosts, token_endpoint, authorization_endpoint, issuer,
    tenant_path, registered, mrn_system, mrn_type, credentials_sealed, created_at`;
}

function sealedCredentials(
  { vault }: VaultContext,
  tx: Tx,
  { id, client_id, credentials }: Pick<EmrApp, 'id' | 'client_id' | 'credentials'>,
): Promise<Buffer> {
  return vault.seal(tx, { client_id, owner_id: client_id }, bindingOf(id), JSON.stringify(credentials));
}

async function unsealed({ vault }: VaultContext, tx: Tx, { credentials_sealed, ...row }: Row): Promise<EmrApp> {
  // Sealed here from a value of this type.
  return { ...row, credentials: JSON.parse(await vault.unseal(tx, credentials_sealed, bindingOf(row.id))) };
}

function bindingOf(id: string): string {
  return `emr_app:${id}`;
}
