import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { verifyWebhook } from '../../src/platform/security/signatures.ts';
import { toReplay } from '../../web/dashboard/pages/events/replay.ts';
import { newClient } from '../api/support.ts';
import { newOperator } from '../harness/operator.ts';
import { type Responder, respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { until } from '../journeys/support.ts';
import { polling, startEventsFixture, writeUntil } from './eventsFixture.ts';

let fixture: Awaited<ReturnType<typeof startEventsFixture>>;
beforeAll(async () => {
  fixture = await startEventsFixture();
});
afterAll(() => fixture?.close());
afterEach(async () => {
  await fixture.owner`DELETE FROM webhook_endpoints`;
  await fixture.owner`DELETE FROM events`;
});

const get = (path: string) => fixture.operator.get(`clients/{client}/${path}`);
const post = (path: string, body?: unknown) => fixture.operator.post(`clients/{client}/${path}`, body);
const listed = async (query = '') => (await get(`events?${query}`)).body.rows as { id: string; type: string }[];

/** A registered webhook server; `receiver.respond` sets how it responds. */
async function register(respond: Responder) {
  const receiver = await startReceiver(respond);
  onTestFinished(receiver.close);
  const { body } = await post('webhooks', { webhook_url: receiver.url });
  return { receiver, webhook_id: body.webhook_id as string };
}

/** Creates failed events: the receiver responds with 500, and the three-day retry schedule is cut short here. */
async function failOnce(count = 1) {
  const { receiver, webhook_id } = await register(respondWith(500, {}, 'no'));
  const ids = [];
  for (let n = 0; n < count; n++) ids.push(await writeUntil(fixture, 'pending'));
  // A running attempt would overwrite the state set here.
  await until('no try to be under way', async () => {
    await fixture.owner`UPDATE deliveries SET status = 'failed', ready_at = NULL, finished_at = now()
      WHERE locked_until IS NULL`;
    return (await fixture.owner`SELECT FROM deliveries WHERE ready_at IS NOT NULL`).length === 0;
  });
  await fixture.owner`UPDATE events SET delivery_status = 'failed' WHERE id = ANY (${ids})`;
  return { receiver, webhook_id, ids };
}

const yesterday = () => new Date(Date.now() - 86_400_000).toISOString();
async function resendAll() {
  const { body } = await get(`failed-events?since=${yesterday()}`);
  return post('failed-events/resend', { since: yesterday(), until: body.until });
}

describe('the events list', () => {
  test('is paginated, newest first, and contains no patient data', async () => {
    const ids = [];
    for (let n = 0; n < 3; n++) ids.unshift(await writeUntil(fixture, null));
    const first = await get('events?page_size=2');
    expect(first.body.rows.map(({ id }: { id: string }) => id)).toStrictEqual(ids.slice(0, 2));
    expect(JSON.stringify(first.body)).not.toContain(fixture.sandbox.example.patient_mrn);
    const second = await get(`events?page_size=2&before=${first.body.next}`);
    expect(second.body).toMatchObject({ rows: [{ id: ids[2], delivery_status: null, tries: 0 }], next: null });
  });

  test('can be filtered by type, status, job, account and time', async () => {
    await register(respondWith(200));
    const id = await writeUntil(fixture, 'success');
    expect((await get('events')).body.rows).toMatchObject([{ endpoints: 1, delivered: 1 }]);
    const [row] = (await get('events')).body.rows;
    const hits = [
      'event_type=telephone_encounter.created',
      'delivery_status=success',
      `job_id=${row.job_id}`,
      `account_id=${row.account.id}`,
      `start_date=${row.created_at}&end_date=${row.created_at}`,
    ];
    for (const query of hits) expect(await listed(query), query).toMatchObject([{ id }]);
    const misses = [
      'event_type=telephone_encounter.failed',
      'delivery_status=failed',
      'delivery_status=none',
      `job_id=${row.job_id + 1}`,
      `account_id=${'0'.repeat(32)}`,
      'start_date=2099-01-01',
      'end_date=2020-01-01',
    ];
    for (const query of misses) expect(await listed(query), query).toStrictEqual([]);
    expect((await get('events?account_id=everyone')).status).toBe(400);
  });

  test('does not include events of other clients, nor does the event endpoint', async () => {
    const id = await writeUntil(fixture, null);
    const other = await newClient(fixture);
    const other_events = await fixture.operator.get(`clients/${other.client_id}/events`);
    expect(other_events.body.rows).toStrictEqual([]);
    expect((await fixture.operator.get(`clients/${other.client_id}/events/${id}`)).status).toBe(404);
    const resent = await fixture.operator.post(`clients/${other.client_id}/events/${id}/resend`);
    expect(resent.status).toBe(404);
  });
});

describe('an event', () => {
  test('includes its payload and every attempt with status, duration and response snippet', async () => {
    const long = `first line\nsecond \u0007${'x'.repeat(1000)}`;
    await register(respondWith(500, { 'content-type': 'text/plain' }, long));
    const id = await writeUntil(fixture, 'pending');
    const { event } = (await get(`events/${id}`)).body;
    expect(JSON.parse(event.body)).toMatchObject({ id, data: { patient_mrn: fixture.sandbox.example.patient_mrn } });
    const [delivery] = event.deliveries;
    expect(delivery).toMatchObject({ status: 'pending', next_try_at: expect.any(String) });
    const [first] = delivery.tries.slice(-1);
    expect(first).toMatchObject({ attempt: 1, status_code: 500, problem: 'The receiver responded with 500.' });
    expect(first.duration_ms).toBeGreaterThanOrEqual(0);
    expect(first.snippet).toHaveLength(500);
    expect(first.snippet).toMatch(/^first line\nsecond \ufffdxxx/);
  });

  test('shows what the last attempt was signed with, and how to send it again signed anew', async () => {
    const { receiver } = await register(respondWith(204));
    const id = await writeUntil(fixture, 'success');
    const { event } = (await get(`events/${id}`)).body;
    const [delivery] = event.deliveries;
    const [sent] = receiver.received;
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    expect(delivery.signed_headers).toStrictEqual(Object.fromEntries(names.map((name) => [name, sent?.headers[name]])));
    // The secret of an endpoint is shown only when it is created or rotated.
    const rotated = (await post(`webhooks/${delivery.webhook_id}/rotate-secret`, { immediately: true })).body;
    const command = toReplay({ id, body: event.body, url: receiver.url });
    const env = { PATH: process.env.PATH, WEBHOOK_SECRET: rotated.webhook_secret };
    await promisify(execFile)('bash', ['-c', command], { env });
    const replayed = receiver.received.at(-1);
    const secrets = [rotated.webhook_secret];
    const now_s = Date.now() / 1000;
    expect(verifyWebhook(replayed?.headers ?? {}, replayed?.body ?? '', { secrets, now_s })).toBe('valid');
    expect(replayed?.body).toBe(event.body);
  });

  test('stores the response snippet of a success, but no binary content', async () => {
    const registered = await register(
      respondWith(200, { 'content-type': 'application/json' }, '{"error":"unknown clinic"}'),
    );
    const id = await writeUntil(fixture, 'success');
    const readAttempts = async () => (await get(`events/${id}`)).body.event.deliveries[0].tries;
    expect(await readAttempts()).toMatchObject([
      { status_code: 200, problem: null, snippet: '{"error":"unknown clinic"}' },
    ]);
    registered.receiver.respond = respondWith(200, { 'content-type': 'image/png' }, 'PNG');
    await post(`events/${id}/resend`);
    await vi.waitFor(async () => expect(await readAttempts()).toHaveLength(2), polling);
    expect(await readAttempts()).toMatchObject([{ attempt: 2, snippet: null }, { attempt: 1 }]);
  });

  test('can be resent by operators but not by read-only users', async () => {
    const { receiver, ids } = await failOnce();
    const reader = await newOperator(fixture, 'read_only');
    expect((await reader.get(`clients/{client}/events/${ids[0]}`)).status).toBe(200);
    expect((await reader.post(`clients/{client}/events/${ids[0]}/resend`)).status).toBe(403);
    expect((await reader.post('clients/{client}/failed-events/resend', {})).status).toBe(403);
    receiver.respond = respondWith(204);
    expect((await post(`events/${ids[0]}/resend`)).body).toStrictEqual({ success: true, deliveries: 1 });
    await vi.waitFor(async () => expect(await listed('delivery_status=success')).toHaveLength(1), polling);
    expect((await post(`events/${'0'.repeat(32)}/resend`)).status).toBe(404);
  });
});

describe('resending failed events', () => {
  test('counts the failed events that can be resent, and resends exactly those', async () => {
    const { receiver, webhook_id, ids } = await failOnce(2);
    const count = async () => (await get(`failed-events?since=${yesterday()}`)).body;
    expect(await count()).toMatchObject({ events: 2, stuck: 0 });
    await post(`webhooks/${webhook_id}/disable`);
    expect(await count()).toMatchObject({ events: 0, stuck: 2 });
    expect((await resendAll()).body).toMatchObject({ resent: 0, next: null });
    await post(`webhooks/${webhook_id}/enable`);
    const since = new Date(Date.now() + 60_000).toISOString();
    expect((await get(`failed-events?since=${since}`)).body).toMatchObject({ events: 0, stuck: 0 });
    receiver.respond = respondWith(200);
    receiver.received.length = 0;
    expect((await resendAll()).body).toMatchObject({ resent: 2, next: null });
    await vi.waitFor(async () => expect(await listed('delivery_status=success')).toHaveLength(2), polling);
    expect(receiver.received.map(({ headers }) => headers['webhook-id']).sort()).toStrictEqual([...ids].sort());
  });

  test('does not resend to endpoints that received the event', async () => {
    const { receiver } = await failOnce();
    const arrived = await register(respondWith(200));
    await fixture.owner`INSERT INTO deliveries (id, client_id, event_id, endpoint_id, status, ready_at, finished_at)
      SELECT gen_random_uuid(), client_id, event_id, ${arrived.webhook_id}, 'success', NULL, now() FROM deliveries`;
    receiver.respond = respondWith(200);
    expect((await resendAll()).body.resent).toBe(1);
    await vi.waitFor(async () => expect(await listed('delivery_status=success')).toHaveLength(1), polling);
    expect(arrived.receiver.received).toHaveLength(0);
  });

  test('sends each event once when two operators do it at the same time', async () => {
    const { receiver, ids } = await failOnce(3);
    receiver.respond = respondWith(200);
    receiver.received.length = 0;
    const both = await Promise.all([resendAll(), resendAll(), resendAll()]);
    expect(both.map(({ body }) => body.resent).sort()).toStrictEqual([0, 0, 3]);
    await vi.waitFor(async () => expect(await listed('delivery_status=success')).toHaveLength(3), polling);
    expect(receiver.received).toHaveLength(ids.length);
  });

  test('continues where the previous batch ended', async () => {
    const { receiver } = await failOnce();
    receiver.respond = respondWith(200);
    // 149 more of the same event; a batch is 100.
    await fixture.owner`
      WITH copies AS (
        INSERT INTO events (id, client_id, account_id, type, body, delivery_status, created_at)
          SELECT gen_random_uuid(), client_id, account_id, type, body, 'failed', created_at
            FROM events, generate_series(1, 149) RETURNING id, client_id)
      INSERT INTO deliveries (id, client_id, event_id, endpoint_id, status, ready_at)
        SELECT gen_random_uuid(), copies.client_id, copies.id, endpoint.id, 'failed', NULL
          FROM copies, webhook_endpoints AS endpoint`;
    const { body: count } = await get(`failed-events?since=${yesterday()}`);
    expect(count.events).toBe(150);
    const range = { since: yesterday(), until: count.until };
    const first = (await post('failed-events/resend', range)).body;
    expect(first.resent).toBe(100);
    const second = (await post('failed-events/resend', { ...range, after: first.next })).body;
    expect(second).toMatchObject({ resent: 50, next: null });
    await vi.waitFor(
      async () => expect((await get(`failed-events?since=${yesterday()}`)).body.events).toBe(0),
      polling,
    );
  });
});
