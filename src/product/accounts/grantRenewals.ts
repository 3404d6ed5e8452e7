import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { newId } from '../../catalog/ids.ts';
import type { Grant, RenewGrant } from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { bindings, lockAccount, readAccount, type StoredAccount, setGrant } from './accounts.ts';

type RenewalContext = Pick<Context, 'db' | 'vault' | 'connectors'>;

/** A grant with its stored form. */
export type StoredGrant = { grant: Grant; sealed: Buffer };

/**
 * `call`: how long the EMR may take. `lease`: longer, so that a call has ended before someone else may start one.
 * `wait`: how long others wait for the one who renews, less than after which an EMR counts as hanging; their jobs are
 * retried. `store`: how long a new session is kept in memory if the database does not store it, longer than a failover.
 */
const limits_ms = { call: 25_000, lease: 30_000, wait: 4_000, store: 60_000 };
const poll_ms = { first: 20, max: 250 };

/**
 * Renews the session of an account for everyone who uses it: jobs, syncs and requests in all processes. Whoever finds
 * that the stored session is another one than `used` gets the stored one. Otherwise one of them claims a lease and
 * renews it, with no transaction open, while the others wait for the result.
 *
 * If the process ends between the EMR's response and the commit, the new refresh token is lost, and the stored one is
 * sent again after the lease. Servers with a grace period then issue another one; strict ones refuse it, and the account
 * must be re-linked. So the response is stored before anything else is done, and again until the database takes it.
 */
export async function renewGrant(
  ctx: RenewalContext,
  account: StoredAccount,
  { used, renew, signal }: { used: Grant; renew: RenewGrant; signal: AbortSignal },
): Promise<StoredGrant> {
  const deadline_ms = performance.now() + limits_ms.wait;
  for (let next_ms = poll_ms.first; ; next_ms = Math.min(next_ms * 2, poll_ms.max)) {
    const turn = await claimOrRead(ctx, account, used);
    if ('renewed' in turn) return turn.renewed;
    if ('lease' in turn) return renewWithLease(ctx, account, turn, renew);
    if (performance.now() > deadline_ms || signal.aborted) {
      throw new EmrFailure('unavailable', 'The EMR session is being renewed.');
    }
    // Not all at the same moment.
    await pause(next_ms * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
  }
}

/** The right to renew the stored session. */
type Claim = { lease: RenewalLease; stored: StoredGrant };
type Turn = { renewed: StoredGrant } | Claim | { waiting: true };

/**
 * Claims the lease, then reads the stored session: whoever held the lease before has stored its result by then. Gives
 * the lease back if there is nothing to renew.
 */
function claimOrRead(ctx: RenewalContext, account: StoredAccount, used: Grant): Promise<Turn> {
  return ctx.db.tenant(account.client_id, async (tx) => {
    const lease = await claimRenewal(tx, account, limits_ms.lease);
    const stored = await readStored(ctx, tx, account);
    if (!isSameSession(ctx, account, stored.grant, used)) {
      if (lease) await releaseRenewal(tx, lease);
      return { renewed: stored };
    }
    return lease ? { lease, stored } : { waiting: true };
  });
}

async function renewWithLease(
  ctx: RenewalContext,
  account: StoredAccount,
  claim: Claim,
  renew: RenewGrant,
): Promise<StoredGrant> {
  const { lease, stored } = claim;
  let renewed: Grant;
  try {
    // Not ended with the job, by a shutdown or a lost lane: the EMR may have redeemed the refresh token already.
    renewed = await renew(stored.grant, AbortSignal.timeout(limits_ms.call));
  } catch (error) {
    const current = await ctx.db.tenant(account.client_id, async (tx) => {
      await releaseRenewal(tx, lease);
      const refused = error instanceof EmrFailure && error.kind === 'login_required';
      return refused ? readStored(ctx, tx, account) : undefined;
    });
    // Someone whose lease had ended, for example in a frozen process, may have stored another session since.
    if (current && !isSameSession(ctx, account, current.grant, stored.grant)) return current;
    throw error;
  }
  return storeUntilTaken(() => storeRenewal(ctx, account, claim, renewed));
}

/** Stores a new session as soon as the database takes it: without it, a person would have to sign in again. */
async function storeUntilTaken<T>(store: () => Promise<T>): Promise<T> {
  const deadline_ms = performance.now() + limits_ms.store;
  for (let next_ms = poll_ms.first; ; next_ms = Math.min(next_ms * 2, poll_ms.max)) {
    try {
      return await store();
    } catch (error) {
      if (error instanceof EmrFailure || performance.now() > deadline_ms) throw error;
      await pause(next_ms);
    }
  }
}

/**
 * Stores a new session. The fence decides between two that were renewed from the same one: a later owner of the lease
 * replaces what an earlier one stored, and not the other way around. An earlier owner's result is stored if the session
 * is still the one that it redeemed: the later owner may have been refused because of it.
 */
function storeRenewal(
  ctx: RenewalContext,
  account: StoredAccount,
  { lease, stored: redeemed }: Claim,
  renewed: Grant,
): Promise<StoredGrant> {
  const { id, client_id } = account;
  return ctx.db
    .tenant(client_id, async (tx) => {
      const is_held = await lockRenewal(tx, lease);
      await lockAccount(tx, id);
      const seal = (grant: Grant) =>
        ctx.vault.seal(tx, { client_id, owner_id: id }, bindings.grant(id), JSON.stringify(grant));
      const present = await readAccount(tx, id);
      if (present?.status === 'revoked') await replaceEndedGrant(tx, id, redeemed.sealed, () => seal(renewed));
      const stored = isSameLink(present, account) ? await unsealed(ctx, tx, present) : undefined;
      await releaseRenewal(tx, lease);
      // The transaction must commit, so the failure is thrown outside it.
      if (!stored) return undefined;
      if (!is_held && !isSameSession(ctx, account, stored.grant, redeemed.grant)) return stored;
      // What others have learned about the server since is kept.
      const grant = { ...renewed, ...factsIn(ctx, account, stored.grant) };
      const sealed = await seal(grant);
      await setGrant(tx, id, sealed);
      return { grant, sealed };
    })
    .then((stored) => stored ?? linkedAgain());
}

/** The stored session. Throws if the account was re-linked or unlinked since it was opened. */
async function readStored(ctx: RenewalContext, tx: Tx, account: StoredAccount): Promise<StoredGrant> {
  const present = await readAccount(tx, account.id);
  return isSameLink(present, account) ? unsealed(ctx, tx, present) : linkedAgain();
}

function linkedAgain(): never {
  // Retried: the next attempt opens the account as it is now.
  throw new EmrFailure('unavailable', 'The account was linked again or unlinked in the meantime.');
}

function isSameLink(present: StoredAccount | undefined, opened: StoredAccount): present is StoredAccount {
  return present !== undefined && present.status !== 'revoked' && present.linked_at === opened.linked_at;
}

async function unsealed({ vault }: RenewalContext, tx: Tx, { id, grant_sealed }: StoredAccount): Promise<StoredGrant> {
  return { grant: JSON.parse(await vault.unseal(tx, grant_sealed, bindings.grant(id))), sealed: grant_sealed };
}

function isSameSession(ctx: RenewalContext, account: StoredAccount, a: Grant, b: Grant): boolean {
  const facts = factNames(ctx, account);
  const sessionIn = (grant: Grant) => Object.fromEntries(Object.entries(grant).filter(([name]) => !facts.has(name)));
  return isDeepStrictEqual(sessionIn(a), sessionIn(b));
}

function factsIn(ctx: RenewalContext, account: StoredAccount, grant: Grant): Grant {
  const facts = factNames(ctx, account);
  return Object.fromEntries(Object.entries(grant).filter(([name]) => facts.has(name)));
}

function factNames({ connectors }: RenewalContext, { connector }: StoredAccount): ReadonlySet<string> {
  return new Set(connectors.get(connector)?.grant_facts);
}

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
