import type { LoadSign } from '../../emr/connector.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { StoredAccount } from './accounts.ts';

type At = Pick<StoredAccount, 'client_id' | 'organization_id' | 'emr_address'>;

/**
 * A marker by which a record of this type was found at the account's address, by any account of the client.
 *
 * Only the marker is shared, not what it shows: each account searches for it itself, with its own rights, and at its own
 * address. So no account, and no server, can make another account believe something about another server. It is not
 * shared between clients: one would search for records of another.
 */
export async function readServerMarker(tx: Tx, { emr_address }: At, type: string): Promise<string | undefined> {
  const [row] = await tx<{ marker: string }[]>`
    SELECT marker FROM server_markers WHERE emr_address = ${emr_address} AND type = ${type}`;
  return row?.marker;
}

/** Stores a marker by which the account found a record. The newest one counts: older records may have been deleted. */
export async function storeServerMarker(tx: Tx, account: At, type: string, marker: string): Promise<void> {
  const { client_id, organization_id, emr_address } = account;
  await tx`INSERT INTO server_markers (client_id, emr_address, type, organization_id, marker)
    VALUES (${client_id}, ${emr_address}, ${type}, ${organization_id}, ${marker})
    ON CONFLICT (client_id, emr_address, type) DO UPDATE
      SET organization_id = excluded.organization_id, marker = excluded.marker, found_at = now()`;
}

/** After this many creates without a failure, twice as many writes may run at the same time. */
const creates_per_step = 20;
/** How long writes run one at a time after the EMR could not handle more. */
const hold_minutes = 60;

type Measured = Pick<StoredAccount, 'id' | 'organization_id'>;

/**
 * Records how well the EMR handles the writes of an account. `measured_max`: the connector's limit, unless the
 * organization has its own.
 */
export async function recordLoad(tx: Tx, account: Measured, sign: LoadSign, measured_max: number): Promise<void> {
  if (sign === 'created') return countCreate(tx, account, measured_max);
  // A server error to a single write says nothing about parallel ones. It only delays the next step.
  const alone = sign === 'failed' ? tx`known.parallel = 1` : tx`false`;
  await tx`INSERT INTO write_limits AS known (account_id, client_id, parallel, creates, reason, held_until)
    SELECT id, client_id, 1, 0, CASE WHEN ${sign === 'failed'} THEN 'start' ELSE ${sign} END,
           CASE WHEN ${sign !== 'failed'} THEN now() + make_interval(mins => ${hold_minutes}) END
      FROM accounts WHERE id = ${account.id} AND status <> 'revoked' FOR SHARE
    ON CONFLICT (account_id) DO UPDATE SET parallel = 1, creates = 0,
      reason = CASE WHEN ${alone} THEN known.reason ELSE ${sign} END,
      held_until = CASE WHEN ${alone} THEN known.held_until ELSE now() + make_interval(mins => ${hold_minutes}) END,
      changed_at = CASE WHEN ${alone} THEN known.changed_at ELSE now() END`;
}

async function countCreate(tx: Tx, account: Measured, measured_max: number): Promise<void> {
  // Locked, so that a limit that is being lowered is not exceeded.
  const [organization] = await tx<{ max: number }[]>`
    SELECT coalesce(parallel_writes_max, ${measured_max}::integer) AS max FROM organizations
     WHERE id = ${account.organization_id} FOR SHARE`;
  if (!organization) return;
  const { max } = organization;
  const enough = tx`known.creates + 1 >= ${creates_per_step}`;
  await tx`INSERT INTO write_limits AS known (account_id, client_id, parallel, creates, reason)
    SELECT id, client_id, 1, 1, 'start' FROM accounts WHERE id = ${account.id} AND status <> 'revoked' FOR SHARE
    ON CONFLICT (account_id) DO UPDATE SET
      parallel = CASE WHEN ${enough} THEN least(known.parallel * 2, ${max}) ELSE known.parallel END,
      creates = CASE WHEN ${enough} THEN 0 ELSE known.creates + 1 END,
      reason = CASE WHEN ${enough} THEN 'creates' ELSE known.reason END,
      changed_at = CASE WHEN ${enough} THEN now() ELSE known.changed_at END
    WHERE known.parallel < ${max} AND (known.held_until IS NULL OR known.held_until <= now())`;
}

/** Applies a lowered limit of an organization at once. A raised one is reached by measuring. */
export async function lowerWriteLimits(tx: Tx, organization_id: string, max: number): Promise<void> {
  await tx`UPDATE write_limits SET parallel = ${max}, creates = 0, reason = 'setting', changed_at = now()
    WHERE parallel > ${max} AND account_id IN (SELECT id FROM accounts WHERE organization_id = ${organization_id})`;
}

/** Forgets what was measured about an account that is unlinked. */
export async function removeWriteLimit(tx: Tx, account_id: string): Promise<void> {
  await tx`DELETE FROM write_limits WHERE account_id = ${account_id}`;
}
