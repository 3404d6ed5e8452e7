import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { purgeEvents } from '../../src/product/erasure/retention.ts';
import { type EventPage, listEvents } from '../../src/product/webhooks/events.ts';
import { resendEvent } from '../../src/product/webhooks/resend.ts';
import { respondWith } from '../harness/servers/receiver.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import {
  createFixture,
  deliverDue,
  emit,
  type Fixture,
  insertJob,
  readAttempts,
  readDeliveries,
  readStatus,
  startEndpoint,
  synced,
} from './fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await createFixture();
});
beforeEach(async () => {
  await fixture.owner`UPDATE deliveries SET ready_at = NULL`;
  tenant = fixture.tenant = await createTenant(fixture.owner);
});
afterAll(() => fixture.close());

async function list(filters: Partial<EventPage> = {}, of: Tenant = tenant) {
  const { body: text } = await listEvents(fixture.db, of.client_id, of.account_id, {
    page: 1,
    page_size: 50,
    ...filters,
  });
  return JSON.parse(text);
}
async function ids(filters: Partial<EventPage> = {}): Promise<string[]> {
  return (await list(filters)).webhook_events.map((event: { id: string }) => event.id);
}
async function setCreatedAt(id: string, created: string): Promise<void> {
  await fixture.owner`UPDATE events SET created_at = ${created}::text::timestamptz WHERE id = ${id}`;
}
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const resend = (id: string, of: Tenant = tenant) =>
  fixture.db.tenant(of.client_id, (tx) => resendEvent(tx, of.client_id, of.account_id, id));

describe('the list of events', () => {
  it('has the complete response', async () => {
    const job_id = await insertJob(fixture);
    const id = await emit(fixture, synced, tenant, job_id);
    const response = await list();
    const created = response.webhook_events[0]?.created;
    expect(response).toStrictEqual({
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

  it('omits fields that the envelope omits, even if the row has them', async () => {
    const job_id = await insertJob(fixture);
    const id = newId();
    const body = JSON.stringify({ id, object: 'event', created: 'c', type: 'document.created', data: { a: null } });
    await fixture.owner`
      INSERT INTO events (id, client_id, account_id, job_id, type, body)
      VALUES (${id}, ${tenant.client_id}, ${tenant.account_id}, ${job_id}, 'document.created', ${body})`;
    const [event] = (await list({ job_id })).webhook_events;
    expect(event).toMatchObject({ id, data: { a: null } });
    expect(event).not.toHaveProperty('job_id');
    expect(event).not.toHaveProperty('access_token_reference_id');
  });

  it('preserves any text', async () => {
    const failure_reason = '"} \\ \u0000 \ud83d\ude00 \ud800 é';
    await emit(fixture, { type: 'sync.failed', data: { org_id: 'o', failure_reason, reasons: [] } });
    expect((await list()).webhook_events[0]?.data.failure_reason).toBe(failure_reason);
  });

  it('filters by job, type, status and combinations', async () => {
    const job_id = await insertJob(fixture);
    const first = await emit(fixture, synced, tenant, job_id);
    const { id: endpoint_id } = await startEndpoint(fixture);
    const second = await emit(fixture, {
      type: 'sync.failed',
      data: { org_id: 'o', failure_reason: 'f', reasons: [] },
    });
    const third = await emit(fixture);
    await fixture.owner`UPDATE deliveries SET status = 'failed' WHERE endpoint_id = ${endpoint_id} AND event_id = ${third}`;
    await fixture.owner`UPDATE events SET delivery_status = 'failed' WHERE id = ${third}`;
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

  it('filters by UTC days or by instants, both inclusive', async () => {
    const day = daysAgo(3).slice(0, 10);
    const [before, start, end, after] = [
      await emit(fixture),
      await emit(fixture),
      await emit(fixture),
      await emit(fixture),
    ];
    await setCreatedAt(start, `${day}T00:00:00.000Z`);
    await setCreatedAt(end, `${day}T23:59:59.999Z`);
    await setCreatedAt(before, new Date(Date.parse(`${day}T00:00Z`) - 1).toISOString());
    await setCreatedAt(after, new Date(Date.parse(`${day}T00:00Z`) + 86_400_000).toISOString());
    expect(await ids({ start_date: day, end_date: day })).toEqual([end, start]);
    expect(await ids({ start_date: day })).toEqual([after, end, start]);
    expect(await ids({ end_date: day })).toEqual([end, start, before]);
    expect(await ids({ start_date: `${day}T00:00:00.001Z`, end_date: `${day}T23:59:59.999Z` })).toEqual([end]);
    expect(await ids({ start_date: `${day}T01:00:00.000+01:00`, end_date: `${day}T12:00` })).toEqual([start]);
  });

  it.each(['yesterday', '2026-02-30', '2026-13-01', '2026-05-01T25:00:00Z', '01.05.2026', ''])(
    'rejects %j as a date',
    async (start_date) => {
      await expect(list({ start_date })).rejects.toMatchObject({ code: 'invalid_field', field: 'start_date' });
    },
  );

  it('is paginated newest first, with a stable order for equal times', async () => {
    const created_ids: string[] = [];
    for (let n = 0; n < 7; n += 1) created_ids.push(await emit(fixture));
    const instant = daysAgo(1);
    for (const id of created_ids) await setCreatedAt(id, instant);
    const expected = [...created_ids].sort().reverse();
    const pages = await Promise.all([1, 2, 3, 4].map((page) => list({ page, page_size: 3 })));
    expect(pages.map((page) => page.webhook_events.map((event: { id: string }) => event.id))).toEqual([
      expected.slice(0, 3),
      expected.slice(3, 6),
      expected.slice(6),
      [],
    ]);
    expect(pages[3]?.pagination).toEqual({ page: 4, current_page: 4, page_size: 3, total_count: 7, total_pages: 3 });
  });

  it('contains only the account’s events of the last 30 days', async () => {
    const old = await emit(fixture);
    await setCreatedAt(old, daysAgo(30.01));
    const recent = await emit(fixture);
    await setCreatedAt(recent, daysAgo(29.99));
    const colleague = await createTenant(fixture.owner, { client_id: tenant.client_id });
    const other = await createTenant(fixture.owner);
    await emit(fixture, synced, colleague);
    await emit(fixture, synced, other);
    expect(await ids()).toEqual([recent]);
    // Another tenant sees nothing even with the right account id.
    expect((await list({}, { ...other, account_id: tenant.account_id })).webhook_events).toEqual([]);
  });
});

describe('old events', () => {
  it('are deleted with their deliveries, in batches, across tenants', async () => {
    await startEndpoint(fixture);
    const old = [await emit(fixture), await emit(fixture), await emit(fixture)];
    for (const id of old) await setCreatedAt(id, daysAgo(31));
    const other = await createTenant(fixture.owner);
    const foreign = await emit(fixture, synced, other);
    await setCreatedAt(foreign, daysAgo(40));
    const recent = await emit(fixture);
    await fixture.owner`DELETE FROM events WHERE created_at < now() - interval '30 days' AND id <> ALL (${[...old, foreign]}::uuid[])`;
    expect(await purgeEvents(fixture, 30, 2)).toBe(4);
    expect(await purgeEvents(fixture, 30, 2)).toBe(0);
    const rows = await fixture.owner<{ id: string }[]>`
      SELECT id FROM events WHERE client_id IN (${tenant.client_id}, ${other.client_id})`;
    expect(rows.map((row) => row.id)).toEqual([recent]);
    expect(await fixture.owner`SELECT id FROM deliveries WHERE event_id = ANY (${old}::uuid[])`).toHaveLength(0);
  });
});

describe('a resend', () => {
  it('restarts the retry schedule and continues the attempt numbers', async () => {
    const { receiver } = await startEndpoint(fixture, respondWith(500));
    const id = await emit(fixture);
    await fixture.owner`UPDATE deliveries SET schedule_from = -9 WHERE event_id = ${id}`;
    await deliverDue(fixture);
    expect(await readStatus(fixture, id)).toBe('failed');
    expect(await resend(id)).toMatchObject({ deliveries: 1 });
    expect(await readStatus(fixture, id)).toBe('pending');
    await deliverDue(fixture);
    const [delivery] = await readDeliveries(fixture, id);
    expect(delivery).toMatchObject({ status: 'pending', attempts: 2 });
    // The first retry of a new schedule: 5 s.
    expect(delivery?.in_ms).toBeLessThanOrEqual(6_000);
    receiver.respond = respondWith(200);
    await fixture.owner`UPDATE deliveries SET ready_at = now() WHERE event_id = ${id}`;
    await deliverDue(fixture);
    expect(receiver.received.map(({ headers }) => [headers['webhook-id'], headers['webhook-attempt']])).toEqual([
      [id, '1'],
      [id, '2'],
      [id, '3'],
    ]);
    expect((await readAttempts(fixture, id)).map((attempt) => attempt.status_code)).toEqual([500, 500, 200]);
    expect(await readStatus(fixture, id)).toBe('success');
  });

  it('includes subscribed endpoints that were added later and leaves pending deliveries unchanged', async () => {
    const early = await startEndpoint(fixture);
    const id = await emit(fixture);
    const late = await startEndpoint(fixture);
    await startEndpoint(fixture, undefined, { event_types: ['sync.failed'] });
    const before = await fixture.owner`SELECT ready_at, fence FROM deliveries WHERE event_id = ${id}`;
    expect(await resend(id)).toMatchObject({ deliveries: 1 });
    const rows = await readDeliveries(fixture, id);
    expect(rows.map((row) => row.endpoint_id).sort()).toEqual([early.id, late.id].sort());
    expect(
      await fixture.owner`SELECT ready_at, fence FROM deliveries WHERE event_id = ${id} AND endpoint_id = ${early.id}`,
    ).toEqual(before);
    await deliverDue(fixture);
    expect(await resend(id)).toMatchObject({ deliveries: 2 });
    expect([early.receiver.received.length, late.receiver.received.length]).toEqual([1, 1]);
  });

  it('skips disabled endpoints', async () => {
    const { id: endpoint_id } = await startEndpoint(fixture);
    const id = await emit(fixture);
    await deliverDue(fixture);
    await fixture.owner`UPDATE webhook_endpoints SET status = 'disabled' WHERE id = ${endpoint_id}`;
    expect(await resend(id)).toMatchObject({ deliveries: 0 });
    expect(await readStatus(fixture, id)).toBe('success');
  });

  it('returns undefined for events of another account or tenant, older than 30 days, or with an invalid id', async () => {
    const id = await emit(fixture);
    expect(await resend(id, await createTenant(fixture.owner))).toBeUndefined();
    expect(await resend(id, await createTenant(fixture.owner, { client_id: tenant.client_id }))).toBeUndefined();
    expect(await resend(newId())).toBeUndefined();
    expect(await resend("' OR 1=1")).toBeUndefined();
    await setCreatedAt(id, daysAgo(30.01));
    expect(await resend(id)).toBeUndefined();
  });
});

describe('totals of many events', () => {
  /** Events of the last hour, two of three of the first type. */
  const insertEvents = (count: number) => fixture.owner`
    INSERT INTO events (id, client_id, account_id, type, body, created_at)
    SELECT gen_random_uuid(), ${tenant.client_id}, ${tenant.account_id},
           CASE n % 3 WHEN 0 THEN 'sync.failed' ELSE 'sync.completed' END, '{"object":"event"}',
           now() - interval '1 hour' + n * interval '1 second'
      FROM generate_series(1, ${count}::integer) AS n`;
  const totals = async () => {
    const counted = [
      {},
      { event_type: 'sync.completed' },
      { event_type: 'sync.failed' },
      { event_type: 'login_required' },
    ];
    return Promise.all(counted.map(async (filters) => (await list(filters)).pagination.total_count));
  };
  const counted = () => fixture.owner<{ total: number }[]>`
    SELECT total FROM event_counts WHERE account_id = ${tenant.account_id} ORDER BY type`;

  it('stores them once there are more than a page should count', async () => {
    await insertEvents(900);
    expect(await totals()).toStrictEqual([900, 600, 300, 0]);
    expect(await counted()).toStrictEqual([]);
    await insertEvents(300);
    expect(await totals()).toStrictEqual([1_200, 800, 400, 0]);
    expect(await counted()).toStrictEqual([{ total: 1_200 }, { total: 800 }, { total: 400 }]);
  });

  it('adds newer events to them', async () => {
    await insertEvents(1_200);
    await list();
    await emit(fixture, synced);
    expect(await totals()).toStrictEqual([1_201, 801, 400, 0]);
    expect(await counted()).toStrictEqual([{ total: 1_200 }, { total: 800 }, { total: 400 }]);
  });

  it('leaves out events that became too old since they were counted', async () => {
    await insertEvents(1_200);
    await list();
    await fixture.owner`UPDATE event_counts SET counted_from = counted_from - interval '1 day'
       WHERE account_id = ${tenant.account_id}`;
    await fixture.owner`UPDATE events SET created_at = now() - interval '30 days 1 hour' WHERE id IN (
      SELECT id FROM events WHERE account_id = ${tenant.account_id} AND type = 'sync.failed' LIMIT 100)`;
    expect(await totals()).toStrictEqual([1_100, 800, 300, 0]);
  });

  it('subtracts deleted events, whether a purge or an erasure deletes them', async () => {
    await insertEvents(1_200);
    await list();
    await fixture.owner`UPDATE events SET created_at = created_at - interval '20 days' WHERE id IN (
      SELECT id FROM events WHERE account_id = ${tenant.account_id} AND type = 'sync.failed' LIMIT 100)`;
    await purgeEvents(fixture, 10);
    expect(await totals()).toStrictEqual([1_100, 800, 300, 0]);
    await fixture.db.tenant(
      tenant.client_id,
      (tx) => tx`DELETE FROM events WHERE account_id = ${tenant.account_id} AND type = 'sync.completed'`,
    );
    expect(await totals()).toStrictEqual([300, 0, 300, 0]);
    expect(await counted()).toStrictEqual([{ total: 300 }, { total: 0 }, { total: 300 }]);
  });

  it('does not count events that are being deleted', async () => {
    await insertEvents(1_200);
    const rollback = new Error('not deleted after all');
    const deletion = fixture.db.tenant(tenant.client_id, async (tx) => {
      await tx`DELETE FROM events WHERE account_id = ${tenant.account_id}`;
      expect(await totals()).toStrictEqual([1_200, 800, 400, 0]);
      expect(await counted()).toStrictEqual([]);
      throw rollback;
    });
    await expect(deletion).rejects.toBe(rollback);
    expect(await totals()).toStrictEqual([1_200, 800, 400, 0]);
    expect(await counted()).toHaveLength(3);
  });
});
