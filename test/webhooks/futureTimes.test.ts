import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { boundLeases } from '../../src/platform/db/lease.ts';
import { boundDeliveryPauses } from '../../src/product/webhooks/deliveries.ts';
import { respondWith } from '../harness/servers/receiver.ts';
import { claim, createFixture, deliverDue, emit, type Fixture, readAttempts, startEndpoint } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
beforeEach(() => fixture.owner`UPDATE deliveries SET ready_at = NULL`);

const bound = () => boundDeliveryPauses(fixture.db.system);
const readyIn = (interval: string) =>
  fixture.owner`UPDATE deliveries SET ready_at = clock_timestamp() + ${interval}::text::interval
    WHERE ready_at IS NOT NULL`;

/** An event whose first attempt has failed. */
async function failedOnce(): Promise<string> {
  await startEndpoint(fixture, respondWith(500));
  const id = await emit(fixture);
  await deliverDue(fixture);
  expect(await readAttempts(fixture, id)).not.toHaveLength(0);
  return id;
}

test('a delivery that was never attempted does not wait for a clock that was ahead', async () => {
  await startEndpoint(fixture);
  await emit(fixture);
  await readyIn('3 hours');
  expect(await claim(fixture)).toHaveLength(0);
  expect(await bound()).toBeGreaterThan(0);
  expect(await deliverDue(fixture)).toBeGreaterThan(0);
});

test('a retry does not wait for a clock that was ahead at its last attempt', async () => {
  const id = await failedOnce();
  await fixture.owner`UPDATE delivery_attempts SET at = clock_timestamp() + interval '3 hours'
    WHERE delivery_id IN (SELECT id FROM deliveries WHERE event_id = ${id})`;
  await readyIn('3 hours 5 minutes');
  expect(await bound()).toBeGreaterThan(0);
  expect(await bound()).toBe(0);
  expect(await deliverDue(fixture)).toBeGreaterThan(0);
});

test('a retry waits no longer than the longest pause of the schedule', async () => {
  await failedOnce();
  await readyIn('28 hours');
  expect(await bound()).toBe(0);
  await readyIn('28 hours 50 minutes');
  expect(await bound()).toBeGreaterThan(0);
});

test('a retry waits as long as its schedule says', async () => {
  await failedOnce();
  await readyIn('24 hours');
  expect(await bound()).toBe(0);
  expect(await claim(fixture)).toHaveLength(0);
});

test('a lease that ends hours from now is shortened', async () => {
  await startEndpoint(fixture);
  await emit(fixture);
  const leases = await claim(fixture);
  await fixture.owner`UPDATE deliveries SET locked_until = clock_timestamp() + interval '2 hours'
    WHERE locked_until IS NOT NULL`;
  expect(await boundLeases(fixture.db.system, 'deliveries', 15_000)).toBe(leases.length);
  const [row] = await fixture.owner<{ left: number }[]>`
    SELECT max(extract(epoch FROM locked_until - clock_timestamp()))::float8 AS left FROM deliveries`;
  expect(row?.left).toBeLessThanOrEqual(15);
});
