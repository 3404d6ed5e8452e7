import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { respondWith } from '../../harness/servers/receiver.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { interceptTimers } from '../../harness/timers.ts';
import { endPauses, until } from '../../journeys/support.ts';
import { completeCall } from '../support/completedJobs.ts';
import { type Registered, register, untilReceived, untilStatus } from './receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const [second, minute, hour] = [1, 60, 3_600];
/** The pause before each attempt after the first, in seconds. */
const pauses_s = [
  ...[5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour],
];

type Delivery = { status: string; attempts: number; problem: string | null; status_code: number | null; gap_s: number };

/** Waits for an attempt of a delivery; `gap_s` is the pause before the next one. */
async function afterAttempt(event_id: string, attempts: number): Promise<Delivery> {
  return until(`attempt ${attempts}`, async () => {
    const [row] = await fixture.owner<Delivery[]>`
      SELECT delivery.status, attempts, problem, status_code,
             extract(epoch FROM ready_at - at)::float8 AS gap_s
        FROM deliveries AS delivery JOIN delivery_attempts ON delivery_id = delivery.id AND attempt = attempts
       WHERE event_id = ${event_id} AND attempts = ${attempts} AND locked_until IS NULL`;
    return row;
  });
}

/** Fails every attempt of a delivery and returns the pauses. */
async function exhaustAttempts(event_id: string): Promise<number[]> {
  const gaps: number[] = [];
  for (let attempt = 1; attempt <= pauses_s.length; attempt += 1) {
    gaps.push((await afterAttempt(event_id, attempt)).gap_s);
    await endPauses(fixture.owner);
  }
  await afterAttempt(event_id, pauses_s.length + 1);
  return gaps;
}

/** The attempt is recorded shortly before the pause begins. */
const tolerance_s = 2;

const readStatus = async ({ id }: Registered): Promise<string> => {
  const { body } = await fixture.api.call('GET', '/v1/webhook', { headers: { access_token: null } });
  return body.webhook_urls.find((each: { id: string }) => each.id === id)?.status;
};

const resend = (event_id: string) => fixture.api.call('POST', `/v1/webhook-events/${event_id}/resend`);

test(row('DEC-348'), async () => {
  const { receiver } = await register(fixture, { respond: respondWith(503) });
  const { event } = await completeCall(fixture);
  await untilReceived(receiver, 1);
  const gaps = await exhaustAttempts(event.id);
  expect(gaps).toHaveLength(pauses_s.length);
  for (const [n, gap_s] of gaps.entries()) {
    expect(gap_s).toBeGreaterThanOrEqual((pauses_s[n] ?? 0) * 0.8);
    expect(gap_s).toBeLessThanOrEqual((pauses_s[n] ?? 0) * 1.2 + tolerance_s);
  }
  expect(receiver.received).toHaveLength(10);
});

test(row('DEC-349'), async () => {
  await register(fixture, { respond: respondWith(503) });
  const factors: number[] = [];
  for (const chance of [0, 1 - Number.EPSILON]) {
    const random = vi.spyOn(Math, 'random').mockReturnValue(chance);
    onTestFinished(() => void random.mockRestore());
    const gaps = await exhaustAttempts((await completeCall(fixture)).event.id);
    for (const [n, gap_s] of gaps.entries()) {
      const plain_s = pauses_s[n] ?? 0;
      expect(gap_s).toBeGreaterThanOrEqual(plain_s * 0.8);
      expect(gap_s).toBeLessThanOrEqual(plain_s * 1.2 + tolerance_s);
    }
    factors.push((gaps.at(-1) ?? 0) / (pauses_s.at(-1) ?? 1));
  }
  // The extremes of the random number give both ends of the jitter.
  expect(factors[0]).toBeCloseTo(0.8, 2);
  expect(factors[1]).toBeCloseTo(1.2, 2);
});

test(row('DEC-350'), async () => {
  const { receiver } = await register(fixture);
  for (const [status, header, asked_s] of [
    [429, () => '7200', 7_200],
    [503, () => '3600', 3_600],
    [503, () => new Date(Date.now() + 7_200_000).toUTCString(), 7_200],
  ] as const) {
    receiver.respond = (...call) => respondWith(status, { 'retry-after': header() })(...call);
    const { gap_s } = await afterAttempt((await completeCall(fixture)).event.id, 1);
    expect(gap_s).toBeGreaterThanOrEqual(asked_s - 10);
    expect(gap_s).toBeLessThanOrEqual(asked_s + tolerance_s);
  }
});

test(row('DEC-351'), async () => {
  // The 15 s timeout is intercepted, and expires when the test calls it. A scheduled task uses the same delay, so the
  // timer is recognized by the file that sets it.
  const timeouts = interceptTimers((ms) => ms === 15_000 && (new Error().stack?.includes('/outbound.ts') ?? false));
  const { receiver } = await register(fixture, { respond: () => {} });
  const { event } = await completeCall(fixture);
  await untilReceived(receiver, 1);
  expect(timeouts).toHaveLength(1);
  const attemptsMade = () => fixture.owner`SELECT FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
    WHERE event_id = ${event.id}`;
  expect(await attemptsMade()).toHaveLength(0);
  timeouts[0]?.();
  const { status, problem, status_code } = await afterAttempt(event.id, 1);
  expect([status, status_code]).toStrictEqual(['pending', null]);
  expect(problem).toMatch(/did not respond within 15 s/);
});

test(row('DEC-352'), async () => {
  const taken = [200, 201, 202, 204, 206, 299];
  const refused = [300, 304, 400, 401, 404, 409, 422, 429, 500, 502, 599];
  const statusOfEndpoint = new Map<string, number>();
  for (const status of [...taken, ...refused]) {
    statusOfEndpoint.set((await register(fixture, { respond: respondWith(status) })).id, status);
  }
  const { event } = await completeCall(fixture);
  const deliveries = await until('every endpoint to be called', async () => {
    const rows = await fixture.owner<{ endpoint_id: string; status: string }[]>`
      SELECT endpoint_id, status FROM deliveries WHERE event_id = ${event.id} AND attempts > 0`;
    return rows.length === statusOfEndpoint.size && rows;
  });
  for (const { endpoint_id, status } of deliveries) {
    const answered = statusOfEndpoint.get(endpoint_id) ?? 0;
    expect([answered, status]).toStrictEqual([answered, taken.includes(answered) ? 'success' : 'pending']);
  }
});

test(row('DEC-353'), async () => {
  const gone = await register(fixture, { respond: respondWith(410) });
  const healthy = await register(fixture);
  await completeCall(fixture);
  await until('the endpoint to be disabled', async () => (await readStatus(gone)) === 'disabled');
  const { event } = await completeCall(fixture);
  await untilStatus(fixture, event.id, 'success');
  await untilReceived(healthy.receiver, 2);
  expect([gone.receiver.received.length, healthy.receiver.received.length]).toStrictEqual([1, 2]);
  expect(await readStatus(healthy)).toBe('enabled');
});

test(row('DEC-354'), async () => {
  const failing = await register(fixture, { respond: respondWith(500) });
  const since = (age: string) =>
    fixture.owner`UPDATE webhook_endpoints SET failing_since = now() - ${age}::text::interval WHERE id = ${failing.id}`;
  const { event } = await completeCall(fixture);
  await afterAttempt(event.id, 1);
  await since('4 days 23 hours 59 minutes');
  await endPauses(fixture.owner);
  await afterAttempt(event.id, 2);
  expect(await readStatus(failing)).toBe('enabled');
  await since('5 days 1 second');
  await endPauses(fixture.owner);
  await afterAttempt(event.id, 3);
  expect(await readStatus(failing)).toBe('disabled');
  await completeCall(fixture);
  expect(failing.receiver.received).toHaveLength(3);
});

test(row('DEC-355'), async () => {
  const { receiver } = await register(fixture, { respond: respondWith(500) });
  const { event } = await completeCall(fixture);
  await exhaustAttempts(event.id);
  expect((await untilStatus(fixture, event.id, 'failed')).delivery_status).toBe('failed');
  const [delivery] = await fixture.owner`SELECT status, ready_at FROM deliveries WHERE event_id = ${event.id}`;
  expect(delivery).toMatchObject({ status: 'failed', ready_at: null });
  await endPauses(fixture.owner);
  await afterAttempt((await completeCall(fixture)).event.id, 1);
  expect(receiver.received.filter(({ headers }) => headers['webhook-id'] === event.id)).toHaveLength(10);
});

test(row('DEC-356'), async () => {
  const { receiver } = await register(fixture, { respond: respondWith(500) });
  const { event } = await completeCall(fixture);
  await exhaustAttempts(event.id);
  await untilStatus(fixture, event.id, 'failed');
  receiver.respond = respondWith(200);
  const age = (age: string) =>
    fixture.owner`UPDATE events SET created_at = now() - ${age}::text::interval WHERE id = ${event.id}`;
  await age('29 days 23 hours 59 minutes');
  const response = await resend(event.id);
  expect([response.status, response.body.deliveries]).toStrictEqual([200, 1]);
  await untilStatus(fixture, event.id, 'success');
  expect(receiver.received.at(-1)?.headers['webhook-id']).toBe(event.id);
  const before = receiver.received.length;
  await age('30 days 1 minute');
  expectApiError(await resend(event.id), 404, `Event with ID '${event.id}' not found.`);
  expect(receiver.received).toHaveLength(before);
});

test(row('DEC-357'), async () => {
  const { receiver } = await register(fixture, { respond: respondWith(500) });
  const first = (await completeCall(fixture)).event;
  await afterAttempt(first.id, 1);
  await fixture.owner`UPDATE deliveries SET ready_at = now() + interval '1 hour' WHERE event_id = ${first.id}`;
  receiver.respond = respondWith(200);
  const second_event = (await completeCall(fixture)).event;
  await untilStatus(fixture, second_event.id, 'success');
  await endPauses(fixture.owner);
  await untilStatus(fixture, first.id, 'success');
  // The first event is delivered last; `created` restores the order.
  const taken = receiver.received.slice(1).map(({ body }) => JSON.parse(body));
  expect(taken.map(({ id }) => id)).toStrictEqual([second_event.id, first.id]);
  const sorted = [...taken].sort((a, b) => a.created.localeCompare(b.created));
  expect(sorted.map(({ job_id }) => job_id)).toStrictEqual([first.job_id, second_event.job_id]);
  // A job has one event, so events of one job cannot overtake each other.
  for (const { job_id } of [first, second_event]) {
    expect(new Set(taken.filter((call) => call.job_id === job_id).map(({ id }) => id)).size).toBe(1);
    expect(await fixture.owner`SELECT FROM events WHERE job_id = ${Number(job_id)}`).toHaveLength(1);
  }
});
