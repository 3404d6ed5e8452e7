import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Access, Connector, Grant } from '../../src/emr/connector.ts';
import { EmrFailure } from '../../src/emr/emrFailure.ts';
import type { Tx } from '../../src/platform/db/database.ts';
import { claimLeases } from '../../src/platform/db/lease.ts';
import { checkMasterKey } from '../../src/platform/security/keys.ts';
import { identified } from '../../src/platform/security/masterKeys.ts';
import { createVault } from '../../src/platform/security/vault.ts';
import { telemetry_off } from '../../src/platform/telemetry/telemetry.ts';
import { bindings, expireAccount } from '../../src/product/accounts/accounts.ts';
import { connectAccount } from '../../src/product/accounts/connectAccount.ts';
import { addEndedGrant } from '../../src/product/accounts/grantRenewals.ts';
import type { Context } from '../../src/product/context.ts';
import { deferred } from '../harness/deferred.ts';
import { type Fixture, openFixture, startNextJob } from './fixture.ts';

let fixture: Fixture;
const master = { current: identified(randomBytes(32)) };
const { signal } = new AbortController();

beforeAll(async () => {
  fixture = await openFixture();
  await checkMasterKey(fixture.owner, master);
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM grant_renewals`;
  await fixture.owner`DELETE FROM operations`;
  await fixture.owner`DELETE FROM lanes`;
  await link('first');
});

const tenant = <T>(work: (tx: Tx) => Promise<T>) => fixture.db.tenant(fixture.tenant.client_id, work);

async function seal(value: Grant): Promise<Buffer> {
  const { client_id, account_id } = fixture.tenant;
  const binding = bindings.grant(account_id);
  return tenant((tx) =>
    createVault(master).seal(tx, { client_id, owner_id: account_id }, binding, JSON.stringify(value)),
  );
}

/** Stores what a sign-in would store. */
async function link(session_token: string): Promise<void> {
  const { client_id, account_id } = fixture.tenant;
  const grant = await seal({ session_token, server: 'known' });
  const credentials = await tenant((tx) =>
    createVault(master).seal(tx, { client_id, owner_id: account_id }, bindings.credentials(account_id), '{}'),
  );
  await fixture.owner`UPDATE accounts SET credentials_sealed = ${credentials}, grant_sealed = ${grant}, status = 'active',
    status_reason = NULL, linked_at = clock_timestamp() WHERE id = ${account_id}`;
}

async function storedGrant(): Promise<Grant> {
  const { account_id } = fixture.tenant;
  const [row] = await fixture.owner<
    { grant_sealed: Buffer }[]
  >`SELECT grant_sealed FROM accounts WHERE id = ${account_id}`;
  if (!row) throw new Error('Expected an account.');
  return tenant(async (tx) =>
    JSON.parse(await createVault(master).unseal(tx, row.grant_sealed, bindings.grant(account_id))),
  );
}

type RenewingAccess = Access & Required<Pick<Access, 'renewGrant'>>;

/** Opens the account like a process of its own. */
async function open(db: Context['db'] = fixture.db, job_signal = signal): Promise<RenewingAccess> {
  let opened: Access | undefined;
  const connector: Partial<Connector> = {
    limits: { parallel_max: 4 },
    capabilities: [],
    grant_facts: ['server'],
    open: (_endpoint, access) => {
      opened = access;
      return {};
    },
  };
  // The parts of the context that are used here.
  const ctx = {
    ...{ db, vault: createVault(master), telemetry: telemetry_off, config: { sandbox: false } },
    connectors: new Map([['larkspur', connector]]),
  } as unknown as Context;
  const { client_id, account_id } = fixture.tenant;
  await connectAccount(ctx, { client_id, account_id }, job_signal);
  const access = opened;
  if (!access?.renewGrant) throw new Error('Expected an account that can be renewed.');
  return { ...access, renewGrant: access.renewGrant };
}

const refusal = () => new EmrFailure('login_required', 'The EMR no longer accepts the sign-in.');

/** An EMR that responds when the test says so. `asked` resolves when it is asked for the first time. */
function heldEmr() {
  const requested = deferred<Grant>();
  const response = deferred<Grant>();
  const redeemed: Grant[] = [];
  return {
    requested: requested.promise,
    redeemed,
    respond: (session_token: string) => response.resolve({ session_token, server: 'known' }),
    fail: (error: EmrFailure) => response.reject(error),
    renew: (grant: Grant) => {
      redeemed.push(grant);
      requested.resolve(grant);
      return response.promise;
    },
  };
}

const endLease = () => fixture.owner`UPDATE grant_renewals SET locked_until = clock_timestamp()`;
const readToken = async (grant: Grant | Promise<Grant>) => (await grant).session_token;

describe('a session that several processes find expired', () => {
  test('is renewed by one of them, and the others use its result', async () => {
    const accesses = [await open(), await open(), await open(), await open()];
    const emr = heldEmr();
    const renewals = accesses.map((access) => access.renewGrant(access.grant, emr.renew));
    await emr.requested;
    emr.respond('second');
    expect(await Promise.all(renewals.map(readToken))).toStrictEqual(['second', 'second', 'second', 'second']);
    expect(emr.redeemed.map(({ session_token }) => session_token)).toStrictEqual(['first']);
    expect(await storedGrant()).toMatchObject({ session_token: 'second' });
  });

  test('is renewed with no transaction open and no lock held during the call', async () => {
    const access = await open();
    const emr = heldEmr();
    const renewal = access.renewGrant(access.grant, emr.renew);
    await emr.requested;
    await fixture.owner`SELECT FROM accounts JOIN grant_renewals ON account_id = accounts.id FOR UPDATE NOWAIT`;
    const idle = await fixture.owner`SELECT query FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%'`;
    expect(idle).toHaveLength(0);
    emr.respond('second');
    await renewal;
  });

  test('is renewed again by whoever finds the renewed one expired', async () => {
    const access = await open();
    const renewed = await access.renewGrant(access.grant, async () => ({ session_token: 'second' }));
    expect(await readToken(access.renewGrant(renewed, async () => ({ session_token: 'third' })))).toBe('third');
    const late = await open();
    expect(await readToken(late.renewGrant(access.grant, () => Promise.reject(refusal())))).toBe('third');
  });

  test('is renewed by the next one if the EMR did not respond to the first', async () => {
    const [first, second] = [await open(), await open()];
    const emr = heldEmr();
    const failed = first.renewGrant(first.grant, emr.renew);
    await emr.requested;
    const waiting = second.renewGrant(second.grant, async () => ({ session_token: 'second' }));
    emr.fail(new EmrFailure('unavailable', 'The EMR did not respond.'));
    await expect(failed).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await readToken(waiting)).toBe('second');
  });

  test('is left to the one who renews it: the others are retried after a few seconds', async () => {
    const [first, second] = [await open(), await open()];
    const emr = heldEmr();
    const renewal = first.renewGrant(first.grant, emr.renew);
    await emr.requested;
    await expect(second.renewGrant(second.grant, emr.renew)).rejects.toMatchObject({ kind: 'unavailable' });
    emr.respond('second');
    await renewal;
    expect(emr.redeemed).toHaveLength(1);
  });
});

describe('a process that stops while it renews a session', () => {
  test('is replaced when its lease ends, and what it receives later does not count', async () => {
    const [frozen, next] = [await open(), await open()];
    const emr = heldEmr();
    const late = frozen.renewGrant(frozen.grant, emr.renew);
    await emr.requested;
    await endLease();
    expect(await readToken(next.renewGrant(next.grant, async () => ({ session_token: 'of the next' })))).toBe(
      'of the next',
    );
    emr.respond('late');
    expect(await readToken(late)).toBe('of the next');
    expect(await storedGrant()).toMatchObject({ session_token: 'of the next' });
  });

  test('stores what it receives later if the EMR refused the next one because of it', async () => {
    const [frozen, next] = [await open(), await open()];
    const emr = heldEmr();
    const late = frozen.renewGrant(frozen.grant, emr.renew);
    await emr.requested;
    await endLease();
    await expect(next.renewGrant(next.grant, () => Promise.reject(refusal()))).rejects.toMatchObject({
      kind: 'login_required',
    });
    emr.respond('late');
    expect(await readToken(late)).toBe('late');
    expect(await storedGrant()).toMatchObject({ session_token: 'late' });
  });

  test('spares the next one a sign-in if it stores its session before that one is refused', async () => {
    const [frozen, next] = [await open(), await open()];
    const [emr, strict] = [heldEmr(), heldEmr()];
    const late = frozen.renewGrant(frozen.grant, emr.renew);
    await emr.requested;
    await endLease();
    const refused = next.renewGrant(next.grant, strict.renew);
    await strict.requested;
    emr.respond('late');
    await late;
    strict.fail(refusal());
    expect(await readToken(refused)).toBe('late');
  });

  test('does not block others longer than a lease, even if the clock of the database was set back', async () => {
    const [gone, next] = [await open(), await open()];
    const emr = heldEmr();
    void gone.renewGrant(gone.grant, emr.renew);
    await emr.requested;
    await fixture.owner`UPDATE grant_renewals SET locked_until = clock_timestamp() + interval '1 hour'`;
    expect(await readToken(next.renewGrant(next.grant, async () => ({ session_token: 'second' })))).toBe('second');
    emr.respond('late');
  });
});

describe('a renewed session', () => {
  test('is stored as soon as the database takes it', async () => {
    let failures = 3;
    let was_requested = false;
    const db = {
      ...fixture.db,
      tenant: async <T>(client_id: string, work: (tx: Tx) => Promise<T>): Promise<T> => {
        if (was_requested && failures-- > 0)
          throw Object.assign(new Error('the database is starting up'), { code: '57P03' });
        return fixture.db.tenant(client_id, work);
      },
    };
    const access = await open(db);
    const renewed = access.renewGrant(access.grant, async () => {
      was_requested = true;
      return { session_token: 'second' };
    });
    expect(await readToken(renewed)).toBe('second');
    expect(failures).toBeLessThan(0);
    expect(await storedGrant()).toMatchObject({ session_token: 'second' });
  });

  test('is stored although the job that asked for it was stopped meanwhile', async () => {
    const stopped = new AbortController();
    const access = await open(fixture.db, stopped.signal);
    const emr = heldEmr();
    // As an HTTP request does: it ends with its signal.
    const renewed = access.renewGrant(access.grant, (grant, call_signal) => {
      const aborted = new Promise<never>((_, reject) =>
        call_signal.addEventListener('abort', () => reject(new EmrFailure('unavailable', 'Aborted.'))),
      );
      return Promise.race([emr.renew(grant), aborted]);
    });
    await emr.requested;
    stopped.abort();
    emr.respond('second');
    expect(await readToken(renewed)).toBe('second');
    expect(await storedGrant()).toMatchObject({ session_token: 'second' });
  });

  test('keeps what others have learned about the server during the renewal', async () => {
    const [first, second] = [await open(), await open()];
    const emr = heldEmr();
    const renewal = first.renewGrant(first.grant, emr.renew);
    await emr.requested;
    await second.saveGrant({ ...second.grant, server: 'learned' });
    emr.respond('second');
    expect(await renewal).toStrictEqual({ session_token: 'second', server: 'learned' });
    expect(await storedGrant()).toStrictEqual({ session_token: 'second', server: 'learned' });
  });

  test('does not replace the session of a re-link', async () => {
    const access = await open();
    const emr = heldEmr();
    const renewal = access.renewGrant(access.grant, emr.renew);
    await emr.requested;
    await link('of the re-link');
    emr.respond('second');
    await expect(renewal).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await storedGrant()).toMatchObject({ session_token: 'of the re-link' });
  });

  test('the EMR is asked to revoke the renewed session of an account that is unlinked during the renewal', async () => {
    const access = await open();
    const emr = heldEmr();
    const renewal = access.renewGrant(access.grant, emr.renew);
    await emr.requested;
    const { client_id, account_id } = fixture.tenant;
    await tenant(async (tx) => {
      const [account] = await tx`SELECT * FROM accounts WHERE id = ${account_id}`;
      await addEndedGrant(tx, account as never);
      await tx`UPDATE accounts SET status = 'revoked', grant_sealed = '' WHERE id = ${account_id}`;
    });
    emr.respond('second');
    await expect(renewal).rejects.toMatchObject({ kind: 'unavailable' });
    const kept = await fixture.owner<{ grant_sealed: Buffer }[]>`
      SELECT grant_sealed FROM ended_grants WHERE account_id = ${account_id} AND client_id = ${client_id}`;
    const grants = await tenant((tx) =>
      Promise.all(
        kept.map(({ grant_sealed }) => createVault(master).unseal(tx, grant_sealed, bindings.grant(account_id))),
      ),
    );
    expect(grants.map((grant) => JSON.parse(grant).session_token)).toStrictEqual(['second']);
  });
});

describe('a job whose session the EMR refused', () => {
  /** A running job that has opened its account. */
  async function runningJob() {
    await fixture.queue('lane');
    const [lease] = await claimLeases(fixture.db.system, 'lanes', { owner: 'w', count: 1, lease_ms: 60_000 });
    const job = lease && (await tenant((tx) => startNextJob(tx, lease)));
    if (!job) throw new Error('Expected a job.');
    return job;
  }
  const ctx = () =>
    ({
      ...{ db: fixture.db, vault: createVault(master), telemetry: telemetry_off, config: { sandbox: false } },
      connectors: new Map([
        ['larkspur', { limits: { parallel_max: 4 }, capabilities: [], grant_facts: ['server'], open: () => ({}) }],
      ]),
      lookups: { clear: () => {} },
      notifications: { notify: () => {} },
    }) as unknown as Context;
  const status = async () => {
    const [row] = await fixture.owner<
      { status: string }[]
    >`SELECT status FROM accounts WHERE id = ${fixture.tenant.account_id}`;
    return row?.status;
  };

  test('marks the account', async () => {
    const job = await runningJob();
    await connectAccount(ctx(), job, signal);
    expect(await expireAccount(ctx(), job, 'refused')).toBe(true);
    expect(await status()).toBe('login_required');
  });

  test('marks the account after it has renewed the session', async () => {
    const job = await runningJob();
    let access: Access | undefined;
    const context = ctx();
    Object.assign(context.connectors.get('larkspur') ?? {}, {
      open: (_: unknown, opened: Access) => {
        access = opened;
        return {};
      },
    });
    await connectAccount(context, job, signal);
    await access?.renewGrant?.(access.grant, async () => ({ session_token: 'second' }));
    expect(await expireAccount(context, job, 'refused')).toBe(true);
    expect(await status()).toBe('login_required');
  });

  test('leaves a link alone that was committed after the job had started', async () => {
    // The re-link has set its time, the job starts and opens the account, then the re-link commits.
    const started = deferred<void>();
    const stored = deferred<void>();
    const grant = await seal({ session_token: 'of the re-link' });
    const relink = tenant(async (tx) => {
      await tx`UPDATE accounts SET grant_sealed = ${grant}, linked_at = clock_timestamp()
        WHERE id = ${fixture.tenant.account_id}`;
      stored.resolve();
      await started.promise;
    });
    await stored.promise;
    const job = await runningJob();
    await connectAccount(ctx(), job, signal);
    started.resolve();
    await relink;
    expect(await expireAccount(ctx(), job, 'refused')).toBe(false);
    expect(await status()).toBe('active');
  });

  test('leaves an account alone whose session another job has renewed', async () => {
    const job = await runningJob();
    await connectAccount(ctx(), job, signal);
    const other = await open();
    await other.renewGrant(other.grant, async () => ({ session_token: 'second' }));
    expect(await expireAccount(ctx(), job, 'refused')).toBe(false);
    expect(await status()).toBe('active');
  });

  test('leaves an account alone that was re-linked before the job could open it', async () => {
    const job = await runningJob();
    await fixture.owner`UPDATE accounts SET status = 'login_required' WHERE id = ${fixture.tenant.account_id}`;
    await expect(connectAccount(ctx(), job, signal)).rejects.toMatchObject({ kind: 'login_required' });
    await link('again');
    expect(await expireAccount(ctx(), job, 'refused')).toBe(false);
    expect(await status()).toBe('active');
  });
});
