import { beforeAll, expect, test } from 'vitest';
import { purgeEvents } from '../../../src/product/erasure/retention.ts';
import { apiAs, expectApiError, newClient } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { respondWith } from '../../harness/servers/receiver.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses, setFault, until, untilFinished } from '../../journeys/support.ts';
import { completeBooking, completeCall, completeUpload } from '../support/completedJobs.ts';
import { register, untilReceived, untilStatus } from './receivers.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

async function list(query = '', api: Api = fixture.api): Promise<ApiResponse['body']> {
  const { status, body } = await api.call('GET', `/v1/webhook-events${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

async function ids(query: string, api: Api = fixture.api): Promise<string[]> {
  return (await list(query, api)).webhook_events.map(({ id }: { id: string }) => id);
}

/** A separate account, so that its events can be counted. */
async function colleague(user_id: string, staff: number): Promise<{ api: Api; event: ApiResponse['body'] }> {
  const api = apiAs(fixture, { access_token: await fixture.api.link({ user_id, staff }) });
  return { api, event: await api.untilEvent((await api.callIn()).body.job_id) };
}

const moveTo = (id: string, created: string) =>
  fixture.owner`UPDATE events SET created_at = ${created}::text::timestamptz WHERE id = ${id}`;
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

test(row('WHE-01'), async () => {
  const [first, second] = await Promise.all([completeCall(fixture), completeBooking(fixture)]);
  for (const { accepted, event } of [first, second]) {
    expect(await ids(`?job_id=${accepted.job_id}`)).toStrictEqual([event.id]);
    expect(event.job_id).toBe(String(accepted.job_id));
  }
  expect(first.event.id).not.toBe(second.event.id);
});

test(row('WHE-02'), async () => {
  const { accepted } = await completeCall(fixture);
  for (const query of ['', `?job_id=${accepted.job_id}`]) {
    const { webhook_events } = await list(query);
    expect(Array.isArray(webhook_events)).toBe(true);
    for (const event of webhook_events) expect(event.object).toBe('event');
  }
});

test(row('WHE-03'), async () => {
  await setFault(fixture.api, 'create_telephone_encounter', 'error_429', { times: 50 });
  const { body } = await fixture.api.callIn();
  const poll = async () => (await list(`?job_id=${body.job_id}`)).webhook_events;
  expect(await poll()).toStrictEqual([]);
  await until('the first attempt to fail', async () => (await fixture.api.job(body.job_id)).error);
  expect(await poll()).toStrictEqual([]);
  await fixture.api.control('DELETE', '/control/faults');
  await endPauses(fixture.owner);
  await untilFinished(fixture.owner, [body.job_id]);
  expect(await poll()).toHaveLength(1);
});

test(row('WHE-04'), async () => {
  const { body } = await fixture.api.callIn();
  await untilFinished(fixture.owner, [body.job_id]);
  const { webhook_events } = await list(`?job_id=${body.job_id}`);
  expect(webhook_events).toHaveLength(1);
  expect(webhook_events[0].data.telephone_encounter_id).toBe(body.telephone_encounter_id);
});

test(row('WHE-05'), async () => {
  const [created, failed] = [await completeCall(fixture), await completeCall(fixture, { patient_mrn: 'LK999999' })];
  expect(created.event.event_type).toBe('telephone_encounter.created');
  expect(failed.event.event_type).toBe('telephone_encounter.failed');
  for (const event of (await list()).webhook_events) expect(event.event_type).toMatch(/^[a-z_]+(\.[a-z_]+)*$/);
});

test(row('WHE-06'), async () => {
  const { receiver } = await register(fixture);
  const completed = [
    await completeCall(fixture, { reason: '“é” 💊' }),
    await completeBooking(fixture),
    await completeUpload(fixture),
  ];
  await untilReceived(receiver, completed.length);
  for (const { event } of completed) {
    const [call] = receiver.received.map(({ body }) => JSON.parse(body)).filter(({ id }) => id === event.id);
    expect(Object.keys(event.data).length).toBeGreaterThan(2);
    expect(event.data).toStrictEqual(call.data);
  }
});

test(row('LIM-10'), async () => {
  await setFault(fixture.api, 'create_telephone_encounter', 'error_429', { times: 50 });
  const { body } = await fixture.api.callIn();
  await until('the first attempt to fail', async () => (await fixture.api.job(body.job_id)).error);
  // As if the request was ten minutes old.
  await fixture.owner`UPDATE jobs SET created_at = created_at - interval '10 minutes',
    started_at = started_at - interval '10 minutes' WHERE id = ${body.job_id}`;
  for (let poll = 0; poll < 50; poll += 1) {
    expect((await list(`?job_id=${body.job_id}`)).webhook_events).toStrictEqual([]);
  }
  await fixture.api.control('DELETE', '/control/faults');
  await endPauses(fixture.owner);
  expect((await fixture.api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter.created');
});

test(row('DEC-307'), async () => {
  const [created, failed] = [await completeCall(fixture), await completeCall(fixture, { patient_mrn: 'LK999999' })];
  expect(await ids(`?job_id=${created.accepted.job_id}`)).toStrictEqual([created.event.id]);
  const failures = (await list('?event_type=telephone_encounter.failed')).webhook_events;
  expect(failures.map(({ id }: { id: string }) => id)).toContain(failed.event.id);
  for (const { event_type } of failures) expect(event_type).toBe('telephone_encounter.failed');
  expect(await ids(`?job_id=${failed.accepted.job_id}&event_type=telephone_encounter.failed`)).toHaveLength(1);
  expect(await ids(`?job_id=${failed.accepted.job_id}&event_type=telephone_encounter.created`)).toStrictEqual([]);
});

test(row('DEC-308'), async () => {
  const taking = await register(fixture, { respond: respondWith(200) });
  const taken = (await completeCall(fixture)).event.id;
  await untilStatus(fixture, taken, 'success');
  taking.receiver.respond = respondWith(410);
  const given_up = (await completeCall(fixture)).event.id;
  await untilStatus(fixture, given_up, 'failed');
  const failing = await register(fixture, { respond: respondWith(500) });
  const waiting = (await completeCall(fixture)).event.id;
  await untilReceived(failing.receiver, 1);
  const id_by_status = { success: taken, failed: given_up, pending: waiting };
  for (const [status, id] of Object.entries(id_by_status)) {
    const listed = (await list(`?delivery_status=${status}&page_size=100`)).webhook_events;
    for (const { delivery_status } of listed) expect(delivery_status).toBe(status);
    const shown = listed.map((event: { id: string }) => event.id);
    expect(shown).toContain(id);
    for (const other of Object.values(id_by_status)) if (other !== id) expect(shown).not.toContain(other);
  }
  expectApiError(
    await fixture.api.call('GET', '/v1/webhook-events?delivery_status=lost'),
    400,
    /^delivery_status must be one of: success, failed, pending$/,
    'delivery_status',
  );
});

test(row('DEC-309'), async () => {
  const { api, event: first } = await colleague('dates', 2);
  const second = await api.untilEvent((await api.callIn()).body.job_id);
  const day = daysAgo(3).slice(0, 10);
  const next = daysAgo(2).slice(0, 10);
  await moveTo(first.id, `${day}T00:00:00.000Z`);
  await moveTo(second.id, `${next}T23:59:59.999Z`);
  expect(await ids(`?start_date=${day}&end_date=${next}`, api)).toStrictEqual([second.id, first.id]);
  expect(await ids(`?start_date=${day}&end_date=${day}`, api)).toStrictEqual([first.id]);
  expect(await ids(`?start_date=${next}`, api)).toStrictEqual([second.id]);
  expect(await ids(`?end_date=${day}`, api)).toStrictEqual([first.id]);
  expect(await ids(`?start_date=${daysAgo(1).slice(0, 10)}`, api)).toStrictEqual([]);
  expect(await ids(`?end_date=${daysAgo(4).slice(0, 10)}`, api)).toStrictEqual([]);
  for (const field of ['start_date', 'end_date']) {
    const response = await api.call('GET', `/v1/webhook-events?${field}=2026-02-30`);
    expectApiError(response, 400, new RegExp(field), field);
  }
});

test(row('DEC-310'), async () => {
  const { api, event } = await colleague('pages', 3);
  await fixture.owner`
    INSERT INTO events (id, client_id, account_id, type, body, created_at)
      SELECT gen_random_uuid(), client_id, account_id, type, body, created_at - n * interval '1 second'
        FROM events, generate_series(1, 119) AS n WHERE id = ${event.id}`;
  const readPage = async (query: string) => {
    const { webhook_events, pagination } = await list(query, api);
    return { count: webhook_events.length, newest: webhook_events[0]?.created_at, ...pagination };
  };
  const all_events = { total_count: 120, page: 1, current_page: 1 };
  const newest = (await readPage('')).newest;
  expect(await readPage('')).toMatchObject({ ...all_events, count: 50, page_size: 50, total_pages: 3 });
  expect(await readPage('?page=1')).toMatchObject({ newest, count: 50 });
  const last = await readPage('?page=3');
  expect(last).toMatchObject({ count: 20, page: 3, current_page: 3, page_size: 50 });
  expect(last.newest < newest).toBe(true);
  for (const page_size of [1, 99, 100]) {
    expect(await readPage(`?page_size=${page_size}`)).toMatchObject({ ...all_events, count: page_size, page_size });
  }
  for (const [query, field] of [
    ['page_size=101', 'page_size'],
    ['page_size=0', 'page_size'],
    ['page=0', 'page'],
  ]) {
    expectApiError(await api.call('GET', `/v1/webhook-events?${query}`), 400, new RegExp(`^${field} `), field);
  }
});

test(row('DEC-311'), async () => {
  const { event } = await completeCall(fixture);
  expect(event.id).toMatch(/^[0-9a-f]{32}$/);
  expect(event.event_id).toBe(event.id);
  expect(event.event_type).toBe('telephone_encounter.created');
  expect(event.type).toBe(event.event_type);
  expect(new Date(event.created).toISOString()).toBe(event.created);
  expect(event.created_at).toBe(event.created);
});

test(row('DEC-312'), async () => {
  const { receiver } = await register(fixture);
  const { accepted, event: before } = await completeCall(fixture);
  await untilReceived(receiver, 1);
  const event = await untilStatus(fixture, before.id, 'success');
  expect(event.object).toBe('event');
  expect(event.job_id).toBe(String(accepted.job_id));
  expect(event.access_token_reference_id).toBe(fixture.sandbox.access_token_reference_id);
  expect(event.data.telephone_encounter_id).toBe(accepted.telephone_encounter_id);
  expect(event.delivery_status).toBe('success');
});

test(row('DEC-313'), async () => {
  const { accepted, event } = await completeCall(fixture);
  expect(await list(`?job_id=${accepted.job_id}`)).toStrictEqual({
    success: true,
    webhook_events: [event],
    pagination: { page: 1, current_page: 1, page_size: 50, total_count: 1, total_pages: 1 },
  });
});

test(row('DEC-314'), async () => {
  const mine = (await completeCall(fixture)).event;
  const colleague_api = await colleague('sister', 4);
  expect(await ids('', colleague_api.api)).toStrictEqual([colleague_api.event.id]);
  expect(await ids('?page_size=100')).toContain(mine.id);
  expect(await ids('?page_size=100')).not.toContain(colleague_api.event.id);
  expect(await ids(`?job_id=${mine.job_id}`, colleague_api.api)).toStrictEqual([]);
  const { api } = await newClient(fixture);
  const other_client_response = await api.call('GET', '/v1/webhook-events', {
    headers: { access_token: fixture.sandbox.access_token },
  });
  expectApiError(other_client_response, 401, 'User not found.');
});

test(row('DEC-315'), async () => {
  const response = await fixture.api.call('GET', '/v1/webhook-events?job_id=999999999');
  expect([response.status, response.body.webhook_events]).toStrictEqual([200, []]);
});

test(row('DEC-316'), async () => {
  for (const job_id of ['abc', '1.5', '-1', '1e3', '0x1', '1%201', '']) {
    const response = await fixture.api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
    expectApiError(response, 400, /^job_id must be /, 'job_id');
  }
});

test(row('DEC-317'), async () => {
  const [recent, gone] = [(await completeCall(fixture)).event, (await completeCall(fixture)).event];
  const minute = 1 / 1440;
  await moveTo(recent.id, daysAgo(30 - minute));
  await moveTo(gone.id, daysAgo(30 + minute));
  for (const purged of [false, true]) {
    if (purged) await purgeEvents(fixture.ctx, fixture.ctx.config.event_days);
    expect(await ids(`?job_id=${recent.job_id}`)).toStrictEqual([recent.id]);
    expect(await ids(`?job_id=${gone.job_id}`)).toStrictEqual([]);
  }
});

test(row('VAL-09'), async () => {
  for (const [path, name] of [
    ['/v1/webhook-events', 'event_type'],
    ['/v1/webhook-events', 'delivery_status'],
    ['/v1/jobs', 'status'],
    ['/v1/staff', 'status'],
    ['/v1/insurance-providers', 'status'],
  ] as const) {
    const response = await fixture.api.call('GET', `${path}?${name}=nope`);
    expectApiError(response, 400, new RegExp(`^${name} must be one of: `), name);
  }
  const { body } = await fixture.api.call('GET', '/v1/patients?mrn=nope');
  expect(body.patients).toStrictEqual([]);
});
