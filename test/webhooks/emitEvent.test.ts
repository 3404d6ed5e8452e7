import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EventOf } from '../../src/model/events.ts';
import { removeEndpoint } from '../../src/product/webhooks/disableEndpoint.ts';
import { emitEvent } from '../../src/product/webhooks/events.ts';
import { addEndpoint } from '../../src/product/webhooks/registration.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import { createFixture, emit, type Fixture, insertJob, readDeliveries, readStatus, synced } from './fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await createFixture();
});
beforeEach(async () => {
  tenant = await createTenant(fixture.owner);
});
afterAll(() => fixture.close());

let added = 0;
const add = (event_types?: ['sync.failed'], of = tenant) => {
  // A URL that is already registered would keep its endpoint.
  added += 1;
  const url = `https://example.org/${added}`;
  return fixture.db.tenant(of.client_id, (tx) => addEndpoint(fixture.ctx, tx, of.client_id, { url, event_types }));
};

async function readRow(id: string) {
  const [row] = await fixture.owner<
    { body: string; created: string; whole: boolean; type: string; job_id: number | null }[]
  >`
    SELECT body, iso(created_at) AS created, date_trunc('milliseconds', created_at) = created_at AS whole, type, job_id
      FROM events WHERE id = ${id}`;
  if (!row) throw new Error('The event does not exist.');
  return row;
}

describe('an event', () => {
  it('has exactly the specified envelope, with the time of its row', async () => {
    const job_id = await insertJob(fixture, tenant);
    const id = await emit(fixture, synced, tenant, job_id);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    const row = await readRow(id);
    expect(JSON.parse(row.body)).toStrictEqual({
      id,
      object: 'event',
      created: row.created,
      type: 'sync.completed',
      job_id: String(job_id),
      access_token_reference_id: tenant.reference_id,
      data: synced.data,
    });
    expect(row.created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(row).toMatchObject({ whole: true, type: 'sync.completed', job_id });
  });

  it('login_required has the account and no job', async () => {
    const data = { access_token_reference_id: 'r', user_id: 'u', org_id: 'o', emr_name: 'Larkspur', reason: 'why' };
    const event: EventOf = { type: 'login_required', data };
    const body = JSON.parse((await readRow(await emit(fixture, event, tenant))).body);
    expect(body.access_token_reference_id).toBe(tenant.reference_id);
    expect(body).not.toHaveProperty('job_id');
    expect(body.data).toStrictEqual(data);
  });

  it('is sent to every enabled endpoint of the client that subscribes to its type, and to no other', async () => {
    const all = await add();
    await add(['sync.failed']);
    await add(undefined, await createTenant(fixture.owner));
    const id = await emit(fixture, synced, tenant);
    expect(await readDeliveries(fixture, id)).toMatchObject([{ endpoint_id: all.id, status: 'pending', attempts: 0 }]);
    expect(await readStatus(fixture, id)).toBe('pending');
  });

  it('has deliveries whose ids are in the order in which the events were emitted', async () => {
    await add();
    const events: string[] = [];
    for (let n = 0; n < 10; n++) events.push(await emit(fixture, synced, tenant));
    const rows = await fixture.owner<{ event_id: string }[]>`
      SELECT event_id FROM deliveries WHERE client_id = ${tenant.client_id} ORDER BY id`;
    expect(rows.map(({ event_id }) => event_id)).toEqual(events);
  });

  it('an event without a subscribed endpoint has no delivery status', async () => {
    await add(['sync.failed']);
    const id = await emit(fixture, synced, tenant);
    expect(await readDeliveries(fixture, id)).toEqual([]);
    expect(await readStatus(fixture, id)).toBeNull();
  });

  it('is rolled back with the transaction of the caller', async () => {
    await add();
    const { client_id, account_id } = tenant;
    const failing = fixture.db.tenant(client_id, async (tx) => {
      await emitEvent(tx, { client_id, account_id, job_id: null, event: synced });
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await fixture.owner`SELECT id FROM events WHERE client_id = ${client_id}`).toHaveLength(0);
    expect(await fixture.owner`SELECT id FROM deliveries WHERE client_id = ${client_id}`).toHaveLength(0);
  });

  it('can be committed only once per job', async () => {
    const job_id = await insertJob(fixture, tenant);
    await emit(fixture, synced, tenant, job_id);
    await expect(emit(fixture, synced, tenant, job_id)).rejects.toMatchObject({ code: '23505' });
  });

  it('is rejected for an account of another tenant', async () => {
    const { account_id } = await createTenant(fixture.owner);
    await expect(emit(fixture, synced, { ...tenant, account_id })).rejects.toThrow('account of the tenant');
  });

  it('is stored even if its endpoint is removed concurrently', async () => {
    const { id: endpoint_id } = await add();
    let emitting: Promise<string> | undefined;
    await fixture.db.tenant(tenant.client_id, async (tx) => {
      await removeEndpoint(tx, endpoint_id);
      emitting = emit(fixture, synced, tenant);
      // The removal commits only when the other transaction is waiting for it.
      await expect.poll(waitingForLocks, { interval: 5 }).toBe(1);
    });
    const id = await emitting;
    expect(await readStatus(fixture, id ?? '')).toBeNull();
  });
});

async function waitingForLocks(): Promise<number | undefined> {
  const [row] = await fixture.owner<{ n: number }[]>`
    SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return row?.n;
}
