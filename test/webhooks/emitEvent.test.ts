import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EventOf } from '../../src/events.ts';
import { addEndpoint } from '../../src/webhooks/addEndpoint.ts';
import { emitEvent } from '../../src/webhooks/emitEvent.ts';
import { removeEndpoint } from '../../src/webhooks/removeEndpoint.ts';
import { layTenant, type Tenant } from '../harness/tenant.ts';
import { deliveriesOf, emit, jobOf, layWorld, statusOf, synced, type World } from './world.ts';

let world: World;
let tenant: Tenant;
beforeAll(async () => {
  world = await layWorld();
});
beforeEach(async () => {
  tenant = await layTenant(world.owner);
});
afterAll(() => world.close());

let added = 0;
const add = (event_types?: ['sync.failed'], whose = tenant) => {
  // An address of its own each time: one that is registered again keeps its endpoint.
  added += 1;
  const url = `https://example.org/${added}`;
  return world.db.tenant(whose.client_id, (tx) => addEndpoint(world.ctx, tx, whose.client_id, { url, event_types }));
};

async function rowOf(id: string) {
  const [row] = await world.owner<
    { body: string; created: string; whole: boolean; type: string; job_id: number | null }[]
  >`
    SELECT body, iso(created_at) AS created, date_trunc('milliseconds', created_at) = created_at AS whole, type, job_id
      FROM events WHERE id = ${id}`;
  if (!row) throw new Error('no event');
  return row;
}

describe('an event', () => {
  it('is enveloped exactly as specified, at the instant of its row', async () => {
    const job_id = await jobOf(world, tenant);
    const id = await emit(world, synced, tenant, job_id);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    const row = await rowOf(id);
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

  it('login_required names the account and no job', async () => {
    const data = { access_token_reference_id: 'r', user_id: 'u', org_id: 'o', emr_name: 'Larkspur', reason: 'why' };
    const event: EventOf = { type: 'login_required', data };
    const body = JSON.parse((await rowOf(await emit(world, event, tenant))).body);
    expect(body.access_token_reference_id).toBe(tenant.reference_id);
    expect(body).not.toHaveProperty('job_id');
    expect(body.data).toStrictEqual(data);
  });

  it('goes to every enabled endpoint of the client that wants its type, and to no other', async () => {
    const all = await add();
    await add(['sync.failed']);
    await add(undefined, await layTenant(world.owner));
    const id = await emit(world, synced, tenant);
    expect(await deliveriesOf(world, id)).toMatchObject([{ endpoint_id: all.id, status: 'pending', attempts: 0 }]);
    expect(await statusOf(world, id)).toBe('pending');
  });

  it('that no endpoint wants has no delivery status', async () => {
    await add(['sync.failed']);
    const id = await emit(world, synced, tenant);
    expect(await deliveriesOf(world, id)).toEqual([]);
    expect(await statusOf(world, id)).toBeNull();
  });

  it('stands or falls with the transaction of the caller', async () => {
    await add();
    const { client_id, account_id } = tenant;
    const failing = world.db.tenant(client_id, async (tx) => {
      await emitEvent(tx, { client_id, account_id, job_id: null, event: synced });
      throw new Error('the job did not end');
    });
    await expect(failing).rejects.toThrow('the job did not end');
    expect(await world.owner`SELECT id FROM events WHERE client_id = ${client_id}`).toHaveLength(0);
    expect(await world.owner`SELECT id FROM deliveries WHERE client_id = ${client_id}`).toHaveLength(0);
  });

  it('ends a job once: a second one cannot be committed', async () => {
    const job_id = await jobOf(world, tenant);
    await emit(world, synced, tenant, job_id);
    await expect(emit(world, synced, tenant, job_id)).rejects.toMatchObject({ code: '23505' });
  });

  it('cannot be reported of an account of another tenant', async () => {
    const { account_id } = await layTenant(world.owner);
    await expect(emit(world, synced, { ...tenant, account_id })).rejects.toThrow('account of the tenant');
  });

  it('is not lost to an endpoint that is removed at the same moment', async () => {
    const { id: endpoint_id } = await add();
    let emitting: Promise<string> | undefined;
    await world.db.tenant(tenant.client_id, async (tx) => {
      await removeEndpoint(tx, endpoint_id);
      emitting = emit(world, synced, tenant);
      // The removal commits only when the other transaction is waiting for it.
      await expect.poll(waiting, { interval: 5 }).toBe(1);
    });
    const id = await emitting;
    expect(await statusOf(world, id ?? '')).toBeNull();
  });
});

async function waiting(): Promise<number | undefined> {
  const [row] = await world.owner<{ n: number }[]>`
    SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return row?.n;
}
