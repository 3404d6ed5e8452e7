import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { expectApiError, newClient } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { type Receiver, respondWith, startReceiver } from '../../harness/servers/receiver.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { until } from '../../journeys/support.ts';
import { completeCall } from '../support/completedJobs.ts';
import { readHeaders, register, registerUrl, untilReceived, untilStatus } from './receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const headers = { access_token: null };
const url = (name: string) => `https://app.example.org/hooks/${name}`;
const patch = (id: string, body: Record<string, unknown>, api: Api = fixture.api) =>
  api.call('PATCH', `/v1/webhook/${id}`, { body, headers });
const sendTest = (id: string, api: Api = fixture.api) =>
  api.call('POST', `/v1/webhook/${id}/test`, { body: {}, headers });
const listDeliveries = (id: string, query = '', api: Api = fixture.api) =>
  api.call('GET', `/v1/webhook/${id}/deliveries${query}`, { headers });
const list = async (api: Api) => (await api.call('GET', '/v1/webhook', { headers })).body.webhook_urls;

test(row('WHA-01'), async () => {
  const { api } = await newClient(fixture);
  const { id } = await registerUrl(api, url('first'), ['login_required']);
  const expected = {
    ...{ id, url: url('first'), status: 'enabled', event_types: ['login_required'] },
    ...{ org_ids: null as string[] | null, sync_events: false, paused: false },
  };
  const changes: Record<string, unknown>[] = [
    { webhook_url: url('second') },
    { event_types: ['sync.failed', 'patient.created'] },
    { org_ids: ['north', 'south'] },
    { sync_events: true },
    { paused: true },
    { paused: false, sync_events: false },
    { event_types: null, org_ids: null },
  ];
  for (const change of changes) {
    const response = await patch(id, change, api);
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    const { webhook_url, ...rest } = change;
    Object.assign(expected, rest, webhook_url === undefined ? {} : { url: webhook_url });
    expect(response.body).toStrictEqual({
      ...{ success: true, message: 'Webhook updated.', webhook_id: id, webhook: expected },
    });
    expect(await list(api)).toStrictEqual([expected]);
  }
});

test(row('WHA-02'), async () => {
  const { api } = await newClient(fixture);
  const { id } = await registerUrl(api, url('one'));
  await registerUrl(api, url('two'));
  const before = await list(api);
  expectApiError(await patch(id, {}, api), 400, 'At least one field must be provided.');
  const invalid: [Record<string, unknown>, RegExp, string][] = [
    [{ event_types: [] }, /^event_types/, 'event_types'],
    [{ event_types: ['no.such.event'] }, /^event_types/, 'event_types[0]'],
    [{ org_ids: [] }, /^org_ids/, 'org_ids'],
    [{ org_ids: [' '] }, /org_ids/, 'org_ids[0]'],
    [{ org_ids: 'north' }, /^org_ids/, 'org_ids'],
    [{ sync_events: 'yes' }, /^sync_events/, 'sync_events'],
    [{ paused: null }, /paused/, 'paused'],
    [{ paused: 1 }, /^paused/, 'paused'],
    [{ webhook_url: null }, /webhook_url/, 'webhook_url'],
    [{ webhook_url: 'http://10.0.0.1/hook' }, /^webhook_url must use https/, 'webhook_url'],
    [{ webhook_url: url('two'), paused: true }, /is already registered/, 'webhook_url'],
  ];
  for (const [body, message, field] of invalid) {
    expectApiError(await patch(id, { sync_events: true, ...body }, api), 400, message, field);
  }
  expectApiError(await patch(id, { status: 'enabled' }, api), 400, 'Unexpected fields in request body: status');
  expect(await list(api)).toStrictEqual(before);
  for (const [unknown, caller] of [
    ['wh_000000000000000000000000', api],
    [id, fixture.api],
  ] as const) {
    const message = `Webhook with ID '${unknown}' not found.`;
    expectApiError(await patch(unknown, { paused: true }, caller), 404, message);
    expectApiError(await sendTest(unknown, caller), 404, message);
    expectApiError(await listDeliveries(unknown, '', caller), 404, message);
  }
  expect(await list(api)).toStrictEqual(before);
});

test(row('WHA-03'), async () => {
  const { id, secret, receiver } = await register(fixture, { respond: respondWith(500) });
  const { event } = await completeCall(fixture);
  await untilReceived(receiver, 1);
  const next = await startReceiver();
  onTestFinished(next.close);
  expect((await patch(id, { webhook_url: next.url })).status).toBe(200);
  await untilStatus(fixture, event.id, 'success');
  expect(verifies(next, 0, secret)).toBe(true);
  expect(JSON.parse(next.received[0]?.body ?? '').id).toBe(event.id);
});

function verifies(receiver: Receiver, n: number, secret: string): boolean {
  new Webhook(secret).verify(receiver.received[n]?.body ?? '', readHeaders(receiver, n));
  return true;
}

test(row('WHA-04'), async () => {
  const { org_id } = fixture.sandbox;
  const [own, foreign, changed] = [await register(fixture), await register(fixture), await register(fixture)];
  const post = (receiver: Receiver, org_ids: string[]) =>
    fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url, org_ids }, headers });
  expect((await post(own.receiver, ['not-linked-yet', org_id])).status).toBe(200);
  expect((await post(foreign.receiver, ['not-linked-yet'])).status).toBe(200);
  const first = (await completeCall(fixture)).event;
  await untilStatus(fixture, first.id, 'success');
  expect((await patch(changed.id, { org_ids: ['not-linked-yet'] })).status).toBe(200);
  const second = (await completeCall(fixture)).event;
  await untilStatus(fixture, second.id, 'success');
  const ids = ({ receiver }: { receiver: Receiver }) => receiver.received.map(({ body }) => JSON.parse(body).id);
  expect(ids(own)).toStrictEqual([first.id, second.id]);
  expect(ids(foreign)).toStrictEqual([]);
  expect(ids(changed)).toStrictEqual([first.id]);
  const resent = await fixture.api.call('POST', `/v1/webhook-events/${second.id}/resend`, { body: {} });
  expect(resent.body.deliveries).toBe(1);
});

test(row('WHA-05'), async () => {
  const paused = await register(fixture);
  const open = await register(fixture);
  expect((await patch(paused.id, { paused: true })).status).toBe(200);
  const events = [(await completeCall(fixture)).event, (await completeCall(fixture)).event];
  await untilReceived(open.receiver, 2);
  expect(paused.receiver.received).toStrictEqual([]);
  const waiting = (await listDeliveries(paused.id)).body;
  expect(waiting.deliveries).toMatchObject([
    { event_id: events[1]?.id, status: 'pending', attempts: [] },
    { event_id: events[0]?.id, status: 'pending', attempts: [] },
  ]);
  expect((await patch(paused.id, { paused: false })).status).toBe(200);
  for (const { id } of events) await untilStatus(fixture, id, 'success');
  const sent = paused.receiver.received.map(({ headers, body }) => [headers['webhook-attempt'], JSON.parse(body).id]);
  expect(sent.map(([attempt]) => attempt)).toStrictEqual(['1', '1']);
  expect(new Set(sent.map(([, id]) => id))).toStrictEqual(new Set(events.map(({ id }) => id)));
});

test(row('WHA-06'), async () => {
  const { id, receiver } = await register(fixture);
  await patch(id, { paused: true });
  const [late, recent] = [(await completeCall(fixture)).event, (await completeCall(fixture)).event];
  await fixture.owner`UPDATE deliveries SET ready_at = now() - interval '77 hours' WHERE event_id = ${late.id}`;
  await fixture.owner`UPDATE deliveries SET ready_at = now() - interval '75 hours' WHERE event_id = ${recent.id}`;
  await patch(id, { paused: false });
  await untilStatus(fixture, recent.id, 'success');
  await untilStatus(fixture, late.id, 'failed');
  expect(receiver.received.map(({ body }) => JSON.parse(body).id)).toStrictEqual([recent.id]);
  await fixture.api.call('POST', `/v1/webhook-events/${late.id}/resend`, { body: {} });
  await untilStatus(fixture, late.id, 'success');
});

test(row('WHA-07'), async () => {
  const { id, secret, receiver } = await register(fixture, {
    respond: respondWith(202, { 'content-type': 'text/plain' }, 'thanks'),
  });
  await patch(id, { paused: true });
  const count = async () => Number((await fixture.owner`SELECT count(*) AS n FROM events`)[0]?.n);
  const before = await count();
  const response = await sendTest(id);
  expect(response.body).toStrictEqual({
    ...{ success: true, message: 'Test event delivered.', webhook_id: id, delivered: true, status_code: 202 },
    ...{ duration_ms: expect.any(Number), problem: null, response_start: 'thanks' },
  });
  expect(verifies(receiver, 0, secret)).toBe(true);
  expect(JSON.parse(receiver.received[0]?.body ?? '').type).toBe('webhook.test');
  receiver.respond = respondWith(500);
  expect((await sendTest(id)).body).toMatchObject({
    ...{ success: true, message: 'Test event not delivered.', delivered: false, status_code: 500 },
    ...{ problem: 'The receiver responded with 500.', response_start: null },
  });
  expect(await count()).toBe(before);
  expect((await listDeliveries(id)).body.deliveries).toStrictEqual([]);
});

test(row('WHA-08'), async () => {
  const { id, receiver } = await register(fixture, { respond: respondWith(503, {}, 'down') });
  const [first, second] = [(await completeCall(fixture)).event, (await completeCall(fixture)).event];
  await until('both attempts', async () => {
    const { deliveries } = (await listDeliveries(id)).body;
    return deliveries.length === 2 && deliveries.every((each: { attempts: unknown[] }) => each.attempts.length > 0);
  });
  receiver.respond = respondWith(200);
  const all = (await listDeliveries(id)).body;
  expect(all).toMatchObject({
    success: true,
    deliveries: [{ event_id: second.id }, { event_id: first.id }],
    pagination: { page: 1, current_page: 1, page_size: 50, total_count: 2, total_pages: 1 },
  });
  const oldest = all.deliveries[1];
  expect(Object.keys(oldest)).toStrictEqual([
    ...['id', 'event_id', 'event_type', 'status', 'created_at', 'next_attempt_at', 'attempts'],
  ]);
  expect(oldest).toMatchObject({ event_type: 'telephone_encounter.created', created_at: first.created });
  expect(oldest.attempts.at(-1)).toStrictEqual({
    ...{ attempt: 1, at: expect.any(String), status_code: 503, duration_ms: expect.any(Number) },
    ...{ problem: 'The receiver responded with 503.', response_start: 'down' },
  });
  await untilStatus(fixture, first.id, 'success');
  await untilStatus(fixture, second.id, 'success');
  const numbers = (await listDeliveries(id)).body.deliveries[1].attempts.map(
    ({ attempt }: { attempt: number }) => attempt,
  );
  expect(numbers).toStrictEqual([2, 1]);
  const count = async (query: string) => (await listDeliveries(id, query)).body.deliveries.length;
  expect(await count('?status=pending')).toBe(0);
  expect(await count('?status=success')).toBe(2);
  expect(await count('?event_type=telephone_encounter.created')).toBe(2);
  expect(await count('?event_type=patient.created')).toBe(0);
  const page = (await listDeliveries(id, '?page=2&page_size=1')).body;
  expect(page.deliveries).toMatchObject([{ event_id: first.id }]);
  expect(page.pagination).toMatchObject({ page: 2, page_size: 1, total_count: 2, total_pages: 2 });
  expectApiError(await listDeliveries(id, '?page_size=101'), 400, /page_size/, 'page_size');
  expectApiError(await listDeliveries(id, '?status=lost'), 400, /status/, 'status');
});

test(row('WHA-09'), async () => {
  const { id, receiver } = await register(fixture, {
    respond: respondWith(200, { 'content-type': 'text/plain' }, `\u0000\u001b[31m${'é'.repeat(800)}`),
  });
  const { event } = await completeCall(fixture);
  await untilStatus(fixture, event.id, 'success');
  const { body } = await listDeliveries(id);
  const { response_start } = body.deliveries[0].attempts[0];
  expect(Array.from(response_start)).toHaveLength(500);
  expect(response_start).toMatch(/^\ufffd\ufffd\[31mé+$/);
  expect(JSON.stringify(body)).not.toContain(event.data.patient_mrn);
  expect(JSON.stringify(body)).not.toContain(event.data.telephone_encounter_id);
  receiver.respond = respondWith(200, { 'content-type': 'image/png' }, 'binary');
  expect((await sendTest(id)).body).toMatchObject({ delivered: true, response_start: null });
});

test(row('WHA-10'), async () => {
  const { api } = await newClient(fixture);
  const post = (fields: Record<string, unknown>) =>
    api.call('POST', '/v1/webhook', { body: { webhook_url: url('again'), ...fields }, headers });
  const { webhook_id } = (await post({ org_ids: ['north'], sync_events: true })).body;
  await patch(webhook_id, { paused: true }, api);
  await post({});
  expect(await list(api)).toMatchObject([{ org_ids: ['north'], sync_events: true, paused: true, event_types: null }]);
  await post({ org_ids: ['south'], sync_events: false, event_types: ['sync.failed'] });
  expect(await list(api)).toMatchObject([
    { org_ids: ['south'], sync_events: false, paused: true, event_types: ['sync.failed'] },
  ]);
});

test(row('WHA-11'), async () => {
  const { id } = await register(fixture);
  const key = randomUUID();
  const changed = { paused: true, org_ids: ['north'], sync_events: true };
  const keyed = { body: changed, headers: { ...headers, 'idempotency-key': key } };
  await fixture.api.call('PATCH', `/v1/webhook/${id}`, keyed);
  expect((await fixture.api.call('PATCH', `/v1/webhook/${id}`, keyed)).headers.get('idempotency-replayed')).toBe(
    'true',
  );
  const records = await fixture.owner<{ action: string; detail: unknown }[]>`
    SELECT action, detail FROM audit_records WHERE subject = ${id} AND action = 'webhook.update' ORDER BY id`;
  expect(records[0]?.detail).toMatchObject({
    ...{ paused: { old: false, new: true }, sync_events: { old: false, new: true } },
    org_ids: { old: 'all', new: ['north'] },
  });
  await patch(id, { paused: false, org_ids: null });
  const { event } = await completeCall(fixture);
  await untilStatus(fixture, event.id, 'success');
  await listDeliveries(id);
  const [read] = await fixture.owner<{ patients: unknown[] }[]>`
    SELECT patients FROM audit_records WHERE subject = ${id} AND action = 'webhook.deliveries.list'`;
  expect(read?.patients).toHaveLength(1);
});
