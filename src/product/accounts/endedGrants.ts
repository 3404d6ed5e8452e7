import { newId } from '../../catalog/ids.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import type { StoredAccount } from './accounts.ts';

/** What an EMR granted to an account that is unlinked now. */
export type EndedGrant = Pick<StoredAccount, 'credentials_sealed' | 'grant_sealed'> & {
  id: string;
  account_id: string;
  /** Whether it was ended too long ago for another attempt. */
  overdue: boolean;
};

/** If an EMR cannot be reached for this long, its tokens are not revoked, only deleted here. */
const attempt_hours_max = 24;
const retry_minutes = 5;

/** Keeps the credentials and the session of an account that is being unlinked until the EMR has revoked them. */
export async function addEndedGrant(tx: Tx, account: StoredAccount): Promise<void> {
  await tx`INSERT INTO ended_grants (id, client_id, account_id, credentials_sealed, grant_sealed)
    VALUES (${newId()}, ${account.client_id}, ${account.id}, ${account.credentials_sealed}, ${account.grant_sealed})`;
}

/**
 * Replaces a kept session with its renewal: a job may have renewed it while its account was being unlinked, and the EMR
 * must revoke what is valid now.
 */
export async function replaceEndedGrant(
  tx: Tx,
  account_id: string,
  before: Buffer,
  seal: () => Promise<Buffer>,
): Promise<void> {
  const [kept] = await tx<{ id: string }[]>`
    SELECT id FROM ended_grants WHERE account_id = ${account_id} AND grant_sealed = ${before} FOR UPDATE`;
  if (kept) await tx`UPDATE ended_grants SET grant_sealed = ${await seal()} WHERE id = ${kept.id}`;
}

export function findDueGrants(system: Sql, limit: number): Promise<{ id: string; client_id: string }[]> {
  return system.pooled<{ id: string; client_id: string }[]>`
    SELECT id, client_id FROM ended_grants WHERE next_at <= now() ORDER BY next_at LIMIT ${limit}`;
}

/**
 * Claims an ended session for signing out: only one process gets it, and the next attempt is due later. Undefined while
 * a job of the account is running, which may be using the session.
 */
export async function claimEndedGrant(tx: Tx, id: string): Promise<EndedGrant | undefined> {
  const [row] = await tx<EndedGrant[]>`
    UPDATE ended_grants SET next_at = now() + make_interval(mins => ${retry_minutes})
     WHERE id = ${id} AND next_at <= now() AND NOT EXISTS (
           SELECT FROM jobs WHERE jobs.account_id = ended_grants.account_id AND jobs.state = 'running')
    RETURNING id, account_id, credentials_sealed, grant_sealed,
              created_at < now() - make_interval(hours => ${attempt_hours_max}) AS overdue`;
  return row;
}

/** Returns how many of the account's are left. */
export async function removeEndedGrant(tx: Tx, { id, account_id }: EndedGrant): Promise<number> {
  await tx`DELETE FROM ended_grants WHERE id = ${id}`;
  const [left] = await tx<{ n: number }[]>`SELECT count(*) AS n FROM ended_grants WHERE account_id = ${account_id}`;
  return left?.n ?? 0;
}
