import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { EmrFailure, type Grant, type RenewGrant } from '../../emr/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';
import { bindings, lockAccount, readAccount, type StoredAccount, setGrant } from './accounts.ts';
import { replaceEndedGrant } from './endedGrants.ts';
import { claimRenewal, lockRenewal, type RenewalLease, releaseRenewal } from './grantRenewals.ts';

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
 * must be linked again. So the response is stored before anything else is done, and again until the database takes it.
 */
export async function renewGrant(
  ctx: RenewalContext,
  account: StoredAccount,
  used: Grant,
  renew: RenewGrant,
  signal: AbortSignal,
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

type Turn = { renewed: StoredGrant } | { lease: RenewalLease; stored: StoredGrant } | { waiting: true };

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
  { lease, stored }: { lease: RenewalLease; stored: StoredGrant },
  renew: RenewGrant,
): Promise<StoredGrant> {
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
  return storeUntilTaken(() => storeRenewal(ctx, account, lease, stored, renewed));
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
  lease: RenewalLease,
  redeemed: StoredGrant,
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

/** The stored session. Throws if the account was linked again or unlinked since it was opened. */
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
