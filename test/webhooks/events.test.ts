import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/ids.ts';
import { type EventFilters, listEvents, purgeEvents } from '../../src/webhooks/events.ts';
import { resendEvent } from '../../src/webhooks/resend.ts';
import { answering } from '../harness/receiver.ts';
import { layTenant, type Tenant } from '../harness/tenant.ts';
import {
  attemptsOf,
  deliveriesOf,
  drain,
  emit,
  jobOf,
  layWorld,
  receive,
  statusOf,
  synced,
  type World,
} from './world.ts';

let world: World;
let tenant: Tenant;
beforeAll(async () => {
  world = await layWorld();
});
beforeEach(async () => {
  await world.owner`UPDATE deliveries SET ready_at = NULL`;
  tenant = world.tenant = await layTenant(world.owner);
});
afterAll(() => world.close());

async function list(filters: Partial<EventFilters> = {}, whose: Tenant = tenant) {
  const { body: text } = await listEvents(world.db, whose.client_id, whose.account_id, {
    page: 1,
    page_size: 50,
    ...filters,
  });
  return JSON.parse(text);
}
async function ids(filters: Partial<EventFilters> = {}): Promise<string[]> {
  return (await list(filters)).webhook_events.map((event: { id: string }) => event.id);
}
async function at(id: string, created: string): Promise<void> {
  await world.owner`UPDATE events SET created_at = ${created}::text::timestamptz WHERE id = ${id}`;
}
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const resend = (id: string, whose: Tenant = tenant) =>
  world.db.tenant(whose.client_id, (tx) => resendEvent(tx, whose.client_id, whose.account_id, id));

describe('the list of events', () => {
  it('is the whole answer', async () => {
    const job_id = await jobOf(world);
    const id = await emit(world, synced, tenant, job_id);
    const answer = await list();
    const created = answer.webhook_events[0]?.created;
    expect(answer).toStrictEqual({
      success: true,
      webhook_events: [
        {
          id,
          event_id: id,
          object: 'event',
          event_type: 'sync.completed',
          type: 'sync.completed',
          created,
          created_at: created,
          job_id: String(job_id),
          access_token_reference_id: tenant.reference_id,
          data: synced.data,
          delivery_status: null,
        },
      ],
      pagination: { page: 1, current_page: 1, page_size: 50, total_count: 1, total_pages: 1 },
    });
  });

  it('is empty for an account without events', async () => {
    expect(await list()).toStrictEqual({
      success: true,
      webhook_events: [],
      pagination: { page: 1, current_page: 1, page_size: 50, total_count: 0, total_pages: 0 },
    });
  });

  it('leaves out what the envelope left out, also when the row knows it', async () => {
    const job_id = await jobOf(world);
    const id = newId();
    const body = JSON.stringify({ id, object: 'event', created: 'c', type: 'document.created', data: { a: null } });
    await world.owner`
      INSERT INTO events (id, client_id, account_id, job_id, type, body)
      VALUES (${id}, ${tenant.client_id}, ${tenant.account_id}, ${job_id}, 'document.created', ${body})`;
    const [event] = (await list({ job_id })).webhook_events;
    expect(event).toMatchObject({ id, data: { a: null } });
    expect(event).not.toHaveProperty('job_id');
    expect(event).not.toHaveProperty('access_token_reference_id');
  });

  it('carries any text unharmed', async () => {
    const failure_reason = '"} \\ \u0000 \ud83d\ude00 \ud800 é';
    await emit(world, { type: 'sync.failed', data: { org_id: 'o', failure_reason, reasons: [] } });
    expect((await list()).webhook_events[0]?.data.failure_reason).toBe(failure_reason);
  });

  it('filters by job, type, status and any of them together', async () => {
    const job_id = await jobOf(world);
    const first = await emit(world, synced, tenant, job_id);
    const { id: endpoint_id } = await receive(world);
    const second = await emit(world, { type: 'sync.failed', data: { org_id: 'o', failure_reason: 'f', reasons: [] } });
    const third = await emit(world);
    await world.owner`UPDATE deliveries SET status = 'failed' WHERE endpoint_id = ${endpoint_id} AND event_id = ${third}`;
    await world.owner`UPDATE events SET delivery_status = 'failed' WHERE id = ${third}`;
    expect(await ids()).toEqual([third, second, first]);
    expect(await ids({ job_id })).toEqual([first]);
    expect(await ids({ job_id: job_id + 1_000_000 })).toEqual([]);
    expect(await ids({ event_type: 'sync.failed' })).toEqual([second]);
    expect(await ids({ event_type: 'no.such' })).toEqual([]);
    expect(await ids({ delivery_status: 'pending' })).toEqual([second]);
    expect(await ids({ delivery_status: 'failed' })).toEqual([third]);
    expect(await ids({ delivery_status: 'success' })).toEqual([]);
    expect(await ids({ delivery_status: 'failed', event_type: 'sync.completed' })).toEqual([third]);
    expect(await ids({ delivery_status: 'failed', event_type: 'sync.failed' })).toEqual([]);
  });

  it('filters by whole days of UTC or by instants, both inclusive', async () => {
    const day = daysAgo(3).slice(0, 10);
    const [before, start, end, after] = [await emit(world), await emit(world), await emit(world), await emit(world)];
    await at(start, `${day}T00:00:00.000Z`);
    await at(end, `${day}T23:59:59.999Z`);
    await at(before, new Date(Date.parse(`${day}T00:00Z`) - 1).toISOString());
    await at(after, new Date(Date.parse(`${day}T00:00Z`) + 86_400_000).toISOString());
    expect(await ids({ start_date: day, end_date: day })).toEqual([end, start]);
    expect(await ids({ start_date: day })).toEqual([after, end, start]);
    expect(await ids({ end_date: day })).toEqual([end, start, before]);
    expect(await ids({ start_date: `${day}T00:00:00.001Z`, end_date: `${day}T23:59:59.999Z` })).toEqual([end]);
    expect(await ids({ start_date: `${day}T01:00:00.000+01:00`, end_date: `${day}T12:00` })).toEqual([start]);
  });

  it.each(['yesterday', '2026-02-30', '2026-13-01', '2026-05-01T25:00:00Z', '01.05.2026', ''])(
    'refuses %j as a date',
    async (start_date) => {
      await expect(list({ start_date })).rejects.toMatchObject({ code: 'invalid_field', field: 'start_date' });
    },
  );

  it('pages newest first; events of one instant keep one order', async () => {
    const made: string[] = [];
    for (let n = 0; n < 7; n += 1) made.push(await emit(world));
    const instant = daysAgo(1);
    for (const id of made) await at(id, instant);
    const expected = [...made].sort().reverse();
    const pages = await Promise.all([1, 2, 3, 4].map((page) => list({ page, page_size: 3 })));
    expect(pages.map((page) => page.webhook_events.map((event: { id: string }) => event.id))).toEqual([
      expected.slice(0, 3),
      expected.slice(3, 6),
      expected.slice(6),
      [],
    ]);
    expect(pages[3]?.pagination).toEqual({ page: 4, current_page: 4, page_size: 3, total_count: 7, total_pages: 3 });
  });

  it('shows an account its own events of the last 30 days only', async () => {
    const old = await emit(world);
    await at(old, daysAgo(30.01));
    const recent = await emit(world);
    await at(recent, daysAgo(29.99));
    const sister = await layTenant(world.owner, { client_id: tenant.client_id });
    const stranger = await layTenant(world.owner);
    await emit(world, synced, sister);
    await emit(world, synced, stranger);
    expect(await ids()).toEqual([recent]);
    // The wall of the tenant holds even when the account is named.
    expect((await list({}, { ...stranger, account_id: tenant.account_id })).webhook_events).toEqual([]);
  });
});

describe('old events', () => {
  it('are deleted with their deliveries, in batches, across tenants', async () => {
    await receive(world);
    const old = [await emit(world), await emit(world), await emit(world)];
    for (const id of old) await at(id, daysAgo(31));
    const other = await layTenant(world.owner);
    const foreign = await emit(world, synced, other);
    await at(foreign, daysAgo(40));
    const kept = await emit(world);
    await world.owner`DELETE FROM events WHERE created_at < now() - interval '30 days' AND id <> ALL (${[...old, foreign]}::uuid[])`;
    expect(await purgeEvents(world.db.system, 2)).toBe(4);
    expect(await purgeEvents(world.db.system, 2)).toBe(0);
    const rows = await world.owner<{ id: string }[]>`
      SELECT id FROM events WHERE client_id IN (${tenant.client_id}, ${other.client_id})`;
    expect(rows.map((row) => row.id)).toEqual([kept]);
    expect(await world.owner`SELECT id FROM deliveries WHERE event_id = ANY (${old}::uuid[])`).toHaveLength(0);
  });
});

describe('a resend', () => {
  it('begins a fresh ladder; the numbers of the tries go on', async () => {
    const { receiver } = await receive(world, answering(500));
    const id = await emit(world);
    await world.owner`UPDATE deliveries SET ladder_from = -9 WHERE event_id = ${id}`;
    await drain(world);
    expect(await statusOf(world, id)).toBe('failed');
    expect(await resend(id)).toMatchObject({ deliveries: 1 });
    expect(await statusOf(world, id)).toBe('pending');
    await drain(world);
    const [delivery] = await deliveriesOf(world, id);
    expect(delivery).toMatchObject({ status: 'pending', attempts: 2 });
    // The second rung of a fresh ladder: 5 s.
    expect(delivery?.in_ms).toBeLessThanOrEqual(6_000);
    receiver.answer = answering(200);
    await world.owner`UPDATE deliveries SET ready_at = now() WHERE event_id = ${id}`;
    await drain(world);
    expect(receiver.received.map(({ headers }) => [headers['webhook-id'], headers['webhook-attempt']])).toEqual([
      [id, '1'],
      [id, '2'],
      [id, '3'],
    ]);
    expect((await attemptsOf(world, id)).map((attempt) => attempt.status_code)).toEqual([500, 500, 200]);
    expect(await statusOf(world, id)).toBe('success');
  });

  it('reaches endpoints added since that want the type, and leaves pending deliveries alone', async () => {
    const early = await receive(world);
    const id = await emit(world);
    const late = await receive(world);
    await receive(world, undefined, { event_types: ['sync.failed'] });
    const before = await world.owner`SELECT ready_at, fence FROM deliveries WHERE event_id = ${id}`;
    expect(await resend(id)).toMatchObject({ deliveries: 1 });
    const rows = await deliveriesOf(world, id);
    expect(rows.map((row) => row.endpoint_id).sort()).toEqual([early.id, late.id].sort());
    expect(
      await world.owner`SELECT ready_at, fence FROM deliveries WHERE event_id = ${id} AND endpoint_id = ${early.id}`,
    ).toEqual(before);
    await drain(world);
    expect(await resend(id)).toMatchObject({ deliveries: 2 });
    expect([early.receiver.received.length, late.receiver.received.length]).toEqual([1, 1]);
  });

  it('skips disabled endpoints', async () => {
    const { id: endpoint_id } = await receive(world);
    const id = await emit(world);
    await drain(world);
    await world.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${endpoint_id}`;
    expect(await resend(id)).toMatchObject({ deliveries: 0 });
    expect(await statusOf(world, id)).toBe('success');
  });

  it('knows no event of another account or tenant, none older than 30 days, and none that is no id', async () => {
    const id = await emit(world);
    expect(await resend(id, await layTenant(world.owner))).toBeUndefined();
    expect(await resend(id, await layTenant(world.owner, { client_id: tenant.client_id }))).toBeUndefined();
    expect(await resend(newId())).toBeUndefined();
    expect(await resend("' OR 1=1")).toBeUndefined();
    await at(id, daysAgo(30.01));
    expect(await resend(id)).toBeUndefined();
  });
});
