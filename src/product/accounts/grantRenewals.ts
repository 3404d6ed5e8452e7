import { hostname } from 'node:os';
import type { Tx } from '../../platform/db/database.ts';
import type { StoredAccount } from './accounts.ts';

/** The right to renew the session of an account until the lease ends. The next owner gets a higher fence. */
export type RenewalLease = { account_id: string; fence: number };

const owner = `${hostname()}:${process.pid}`;

/**
 * Claims the renewal of an account's session. Undefined while someone else has it. A lease that lies further in the
 * future than it can was set by a database server whose clock was ahead, and does not count.
 */
export async function claimRenewal(
  tx: Tx,
  { id, client_id }: Pick<StoredAccount, 'id' | 'client_id'>,
  lease_ms: number,
): Promise<RenewalLease | undefined> {
  const end = tx`clock_timestamp() + ${lease_ms}::float8 * interval '1 millisecond'`;
  const [claimed] = await tx<{ fence: number }[]>`
    INSERT INTO grant_renewals AS present (account_id, client_id, owner, fence, locked_until)
    VALUES (${id}, ${client_id}, ${owner}, 1, ${end})
    ON CONFLICT (account_id) DO UPDATE SET owner = excluded.owner, fence = present.fence + 1, locked_until = ${end}
     WHERE present.locked_until IS NULL OR present.locked_until NOT BETWEEN clock_timestamp() AND ${end}
    RETURNING fence`;
  return claimed && { account_id: id, fence: claimed.fence };
}

/** Locks the row of a lease. Returns whether nobody has claimed the renewal since. */
export async function lockRenewal(tx: Tx, { account_id, fence }: RenewalLease): Promise<boolean> {
  const [row] = await tx<{ fence: number }[]>`
    SELECT fence FROM grant_renewals WHERE account_id = ${account_id} FOR UPDATE`;
  return row?.fence === fence;
}

/** Ends a lease, unless someone else has claimed the renewal since. */
export async function releaseRenewal(tx: Tx, { account_id, fence }: RenewalLease): Promise<void> {
  await tx`UPDATE grant_renewals SET owner = NULL, locked_until = NULL
    WHERE account_id = ${account_id} AND fence = ${fence}`;
}
