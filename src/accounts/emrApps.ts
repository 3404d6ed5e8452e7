import type { Credentials } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { newId } from '../ids.ts';
import { unparkJobs } from '../jobs/park.ts';
import { type DestinationChange, destinationChange } from '../security/destinations.ts';
import { reactivateAccounts } from './accounts.ts';
import type { MrnSetting } from './mrnRule.ts';

/**
 * Our registration at an EMR: the sign-in method, the client ID and the secret that an operator configured once for all
 * accounts there. `emr_address` null: used for every address of the connector that has no app of its own.
 */
export type EmrApp = {
  id: string;
  client_id: string;
  name: string;
  logo: string | null;
  connector: string;
  emr_address: string | null;
  credentials: Credentials;
  created_at: Date;
} & MrnSetting;

/** The audit detail of an added or deleted app: the servers that get its credentials. */
export function appDestinations(
  before: Pick<EmrApp, 'emr_address'> | undefined,
  after: Pick<EmrApp, 'emr_address'> | undefined,
): DestinationChange[] {
  const addressOf = (app: typeof before) => app && (app.emr_address ?? any_address);
  return destinationChange('emr_app', addressOf(before), addressOf(after));
}

const any_address = 'any address';

type VaultContext = Pick<Context, 'vault'>;
type Row = Omit<EmrApp, 'credentials'> & { credentials_sealed: Buffer };

export async function listEmrApps(ctx: VaultContext, tx: Tx): Promise<(EmrApp & { accounts: number })[]> {
  const rows = await tx<(Row & { accounts: number })[]>`
    SELECT id, client_id, name, logo, connector, emr_address, mrn_system, mrn_type, credentials_sealed, created_at,
           (SELECT count(*) FROM accounts WHERE emr_app_id = emr_apps.id AND status <> 'revoked') AS accounts
      FROM emr_apps ORDER BY name, id`;
  return Promise.all(rows.map(async (row) => ({ ...(await unsealed(ctx, tx, row)), accounts: row.accounts })));
}

export async function findEmrApp(ctx: VaultContext, tx: Tx, id: string): Promise<EmrApp | undefined> {
  const [row] = await tx<Row[]>`
    SELECT id, client_id, name, logo, connector, emr_address, mrn_system, mrn_type, credentials_sealed, created_at
      FROM emr_apps WHERE id = ${id}`;
  return row && unsealed(ctx, tx, row);
}

/** The app for an address: its own, else the connector's default. */
async function matchEmrApp(tx: Tx, emr: { connector: string; emr_address: string }): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`
    SELECT id FROM emr_apps
     WHERE connector = ${emr.connector} AND (emr_address = ${emr.emr_address} OR emr_address IS NULL)
     ORDER BY emr_address IS NULL LIMIT 1`;
  return row?.id;
}

/**
 * The app for a link. An account is linked again with what it was linked with: for another client ID, many EMRs would
 * see another user.
 */
export async function appForLink(
  tx: Tx,
  emr: { connector: string; emr_address: string },
  account_id: string | null,
): Promise<string | null> {
  if (account_id === null) return (await matchEmrApp(tx, emr)) ?? null;
  const [account] = await tx<{ emr_app_id: string | null }[]>`
    SELECT emr_app_id FROM accounts WHERE id = ${account_id}`;
  return account?.emr_app_id ?? null;
}

export type NewEmrApp = Omit<EmrApp, 'id' | 'created_at'>;

/** Returns undefined if the client already has an app for this address. */
export async function addEmrApp(ctx: VaultContext, tx: Tx, app: NewEmrApp): Promise<string | undefined> {
  const id = newId();
  const { client_id, name, logo, connector, emr_address, mrn_system, mrn_type } = app;
  const sealed = await sealedCredentials(ctx, tx, { id, ...app });
  const [added] = await tx<{ id: string }[]>`
    INSERT INTO emr_apps (id, client_id, name, logo, connector, emr_address, mrn_system, mrn_type, credentials_sealed)
    VALUES (${id}, ${client_id}, ${name}, ${logo}, ${connector}, ${emr_address}, ${mrn_system}, ${mrn_type}, ${sealed})
    ON CONFLICT DO NOTHING RETURNING id`;
  return added?.id;
}

/**
 * Accounts of the app use its new credentials at their next sign-in. Those that expired because the EMR had refused the
 * old ones are retried, with their parked jobs.
 */
export async function changeEmrApp(
  ctx: VaultContext & Pick<Context, 'connectors'>,
  tx: Tx,
  app: EmrApp,
): Promise<void> {
  const sealed = await sealedCredentials(ctx, tx, app);
  await tx`UPDATE emr_apps SET name = ${app.name}, logo = ${app.logo}, mrn_system = ${app.mrn_system},
      mrn_type = ${app.mrn_type}, credentials_sealed = ${sealed}
    WHERE id = ${app.id}`;
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
