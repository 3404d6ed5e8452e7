import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/platform/db/database.ts';
import { deliver } from '../../src/product/webhooks/deliver.ts';
import { clearFailures, findSubscribed, recordFailure } from '../../src/product/webhooks/endpoints.ts';
import { deferred } from '../harness/deferred.ts';
import { respondWith } from '../harness/servers/receiver.ts';
import { createTenant } from '../harness/tenant.ts';
import { claim, createFixture, emit, type Fixture, readDeliveries, startEndpoint, synced } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
beforeEach(async () => {
  await fixture.owner`UPDATE deliveries SET ready_at = NULL`;
  fixture.tenant = await createTenant(fixture.owner);
});
afterAll(() => fixture.close());

test('deliveries to receivers that fail every other time are stored without a deadlock by several processes', async () => {
  let requests = 0;
  const flap: Parameters<typeof startEndpoint>[1] = (...args) => respondWith(requests++ % 2 === 0 ? 200 : 500)(...args);
  for (let n = 0; n < 3; n++) await startEndpoint(fixture, flap);
  const others = [fixture.openConnections(), fixture.openConnections()];
  const contexts = [fixture.ctx, ...others.map((db) => ({ ...fixture.ctx, db }))];
  const errors: unknown[] = [];
  let sent = 0;
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 15 }, () => emit(fixture)));
    await fixture.owner`UPDATE deliveries SET ready_at = now() WHERE ready_at > now()`;
    const leases = await claim(fixture, 60);
    sent += leases.length;
    await Promise.all(
      leases.map((lease, n) =>
        deliver(contexts[n % contexts.length] ?? fixture.ctx, lease, new AbortController().signal).catch((error) =>
          errors.push(error),
        ),
      ),
    );
  }
  await Promise.all(others.map((db) => db.close()));
  expect(errors).toStrictEqual([]);
  const [row] = await fixture.owner<{ attempts: number }[]>`SELECT count(*)::int AS attempts FROM delivery_attempts
    WHERE client_id = ${fixture.tenant.client_id}`;
  expect([requests, row?.attempts]).toStrictEqual([sent, sent]);
});

describe('successes of the same failing endpoints, stored by several processes while an event is emitted,', () => {
  test.each([
    ['two batches in the same order', (ids: string[]) => [ids, ids]],
    ['two batches in opposite orders', (ids: string[]) => [ids, ids.toReversed()]],
    ['three batches of one endpoint', (ids: string[]) => Array.from({ length: 3 }, () => ids.slice(0, 1))],
  ])('do not deadlock: %s', async (_name, createBatches) => {
    const ids: string[] = [];
    for (let n = 0; n < 2; n++) ids.push((await startEndpoint(fixture)).id);
    ids.sort();
    await fixture.owner`UPDATE webhook_endpoints SET failing_since = now() WHERE id = ANY (${ids})`;
    const { client_id } = fixture.tenant;
    // The end of a job locks the endpoints against removal, and another attempt at the first endpoint has just failed.
    const endEvent = await hold((tx) => findSubscribed(tx, [synced.type]));
    const endFailure = await hold((tx) => recordFailure(tx, ids[0] ?? ''));
    const stored: Promise<unknown>[] = [];
    for (const batch of createBatches(ids)) {
      // Not repeated after a conflict, as deliveries are.
      stored.push(fixture.db.tenant(client_id, (tx) => clearFailures(tx, batch)).catch((error) => error));
      await untilBlocked(stored.length);
    }
    await endFailure();
    const results = await Promise.all(stored);
    await endEvent();
    expect(results).toStrictEqual(results.map(() => undefined));
    const cleared = [...new Set(createBatches(ids).flat())];
    const rows =
      await fixture.owner`SELECT FROM webhook_endpoints WHERE id = ANY (${cleared}) AND failing_since IS NULL`;
    expect(rows).toHaveLength(cleared.length);
  });

  /** Keeps a transaction open after `work`. Returns how to commit it. */
  async function hold(work: (tx: Tx) => Promise<unknown>): Promise<() => Promise<void>> {
    const [started, ended] = [deferred<void>(), deferred<void>()];
    const done = fixture.db.tenant(fixture.tenant.client_id, async (tx) => {
      await work(tx);
      started.resolve();
      await ended.promise;
    });
    await started.promise;
    return async () => {
      ended.resolve();
      await done;
    };
  }

  const untilBlocked = (count: number) =>
    expect
      .poll(async () => {
        const [row] = await fixture.owner<{ n: number }[]>`SELECT count(*)::int AS n FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return row?.n;
      })
      .toBe(count);
});

test.each([
  ['40P01', 200, 'success'],
  ['40P01', 500, 'pending'],
  ['40001', 500, 'pending'],
  ['55P03', 200, 'success'],
] as const)(
  'an attempt is stored, and not made again, although the database refuses it with %s (response %i)',
  async (code, response, status) => {
    await fixture.owner.unsafe(`
    CREATE SEQUENCE refusals;
    GRANT USAGE ON SEQUENCE refusals TO PUBLIC;
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF nextval('refusals') <= 3 THEN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON delivery_attempts FOR EACH ROW EXECUTE FUNCTION refuse()`);
    try {
      const { receiver } = await startEndpoint(fixture, respondWith(response));
      const id = await emit(fixture);
      const [lease] = await claim(fixture);
      if (!lease) throw new Error('Expected a delivery.');
      await deliver(fixture.ctx, lease, new AbortController().signal);
      expect(receiver.received).toHaveLength(1);
      expect(await readDeliveries(fixture, id)).toMatchObject([{ status, attempts: 1, free: true }]);
    } finally {
      await fixture.owner.unsafe('DROP FUNCTION refuse() CASCADE; DROP SEQUENCE refusals');
    }
  },
);
