import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../src/errors.ts';
import { addEndpoint } from '../../src/webhooks/addEndpoint.ts';
import { disableEndpoint } from '../../src/webhooks/disableEndpoint.ts';
import { listEndpoints } from '../../src/webhooks/endpoints.ts';
import { removeEndpoint } from '../../src/webhooks/removeEndpoint.ts';
import { newestSecretOfOldestEndpoint, rotateSecret } from '../../src/webhooks/rotateSecret.ts';
import { readLiveSecrets } from '../../src/webhooks/secrets.ts';
import { layTenant, type Tenant } from '../harness/tenant.ts';
import { claim, deliveriesOf, drain, emit, layWorld, receive, statusOf, synced, type World } from './world.ts';

let world: World;
let tenant: Tenant;
beforeAll(async () => {
  world = await layWorld();
});
beforeEach(async () => {
  tenant = await layTenant(world.owner);
});
afterAll(() => world.close());

let registered = 0;
const inside = <T>(work: Parameters<World['db']['tenant']>[1]) => world.db.tenant(tenant.client_id, work) as Promise<T>;
const add = (event_types?: ['sync.failed']) =>
  world.db.tenant(tenant.client_id, (tx) => {
    // An address of its own each time: one that is registered again keeps its endpoint.
    registered += 1;
    const url = `https://app.example.org/hooks?key=${registered}`;
    return addEndpoint(world.ctx, tx, tenant.client_id, { url, event_types });
  });
const rotate = (id?: string) =>
  world.db.tenant(tenant.client_id, (tx) => rotateSecret(world.ctx, tx, tenant.client_id, id));
const live = (id: string) => world.db.tenant(tenant.client_id, (tx) => readLiveSecrets(world.ctx.vault, tx, id));

describe('endpoints', () => {
  it('are listed oldest first, with the types they want', async () => {
    const first = await add();
    const second = await add(['sync.failed']);
    expect(first.id).toMatch(/^wh_[0-9a-f]{24}$/);
    expect(first.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(second.secret).not.toBe(first.secret);
    const listed = await world.db.tenant(tenant.client_id, listEndpoints);
    expect(listed).toMatchObject([
      {
        id: first.id,
        url: expect.stringMatching(/^https:/),
        status: 'enabled',
        event_types: null,
        disabled_reason: null,
      },
      { id: second.id, url: expect.stringMatching(/^https:/), status: 'enabled', event_types: ['sync.failed'] },
    ]);
  });

  it.each(['http://example.org/', 'https://10.0.0.1/', 'https://user:pw@example.org/', 'nonsense'])(
    'are refused at %s',
    async (bad) => {
      const adding = inside((tx) => addEndpoint(world.ctx, tx, tenant.client_id, { url: bad }));
      await expect(adding).rejects.toSatisfy(
        (error) => error instanceof ApiError && error.code === 'webhook_url_refused' && error.field === 'webhook_url',
      );
      expect(await inside(listEndpoints)).toEqual([]);
    },
  );

  it('belong to one tenant: another neither sees, removes nor rotates them', async () => {
    const { id, secret } = await add();
    const other = await layTenant(world.owner);
    await world.db.tenant(other.client_id, async (tx) => {
      expect(await listEndpoints(tx)).toEqual([]);
      expect(await removeEndpoint(tx, id)).toBe(false);
      expect(await rotateSecret(world.ctx, tx, other.client_id, id)).toBeUndefined();
      expect(await disableEndpoint(tx, id, 'no')).toBe(false);
      expect(await readLiveSecrets(world.ctx.vault, tx, id)).toEqual([]);
      expect(await newestSecretOfOldestEndpoint(world.ctx, tx)).toBeUndefined();
    });
    expect(await live(id)).toEqual([secret]);
  });

  it('are removed with their secrets and deliveries; what waited for them alone waits no more', async () => {
    const first = await add();
    const alone = await emit(world, synced, tenant);
    const second = await add();
    const both = await emit(world, synced, tenant);
    expect(await inside((tx) => removeEndpoint(tx, first.id))).toBe(true);
    expect(await statusOf(world, alone)).toBeNull();
    expect(await statusOf(world, both)).toBe('pending');
    expect((await deliveriesOf(world, both)).map((row) => row.endpoint_id)).toEqual([second.id]);
    expect(await world.owner`SELECT id FROM webhook_secrets WHERE endpoint_id = ${first.id}`).toHaveLength(0);
    expect(await inside((tx) => removeEndpoint(tx, first.id))).toBe(false);
  });

  it('that are being removed make no delivery under way wait: each would wait for the other', async () => {
    // What other tests left waiting has addresses that nobody may call.
    await world.owner`UPDATE deliveries SET ready_at = NULL`;
    const { id, receiver } = await receive(world, undefined, {}, tenant);
    const event_id = await emit(world, synced, tenant);
    await world.owner.begin(async (removal) => {
      await removal`SELECT FROM webhook_endpoints WHERE id = ${id} FOR UPDATE`;
      await drain(world);
    });
    expect(receiver.received).toHaveLength(1);
    expect(await statusOf(world, event_id)).toBe('success');
  });

  it('that are disabled get nothing more, and what waits for them fails unless a worker has it', async () => {
    const { id } = await add();
    const taken = await emit(world, synced, tenant);
    await claim(world);
    const waiting = await emit(world, synced, tenant);
    expect(await inside((tx) => disableEndpoint(tx, id, 'by hand'))).toBe(true);
    expect(await inside((tx) => disableEndpoint(tx, id, 'again'))).toBe(false);
    expect(await statusOf(world, taken)).toBe('pending');
    expect(await statusOf(world, waiting)).toBe('failed');
    expect(await deliveriesOf(world, waiting)).toMatchObject([{ status: 'failed', ready: false }]);
    expect(await deliveriesOf(world, await emit(world, synced, tenant))).toEqual([]);
    expect(await inside(listEndpoints)).toMatchObject([{ status: 'disabled', disabled_reason: 'by hand' }]);
  });
});

describe('secrets', () => {
  it('are sealed in the table', async () => {
    const { id, secret } = await add();
    const [row] = await world.owner<{ secret_sealed: Buffer }[]>`
      SELECT secret_sealed FROM webhook_secrets WHERE endpoint_id = ${id}`;
    expect(row?.secret_sealed.toString('latin1')).not.toContain(secret.slice(6, 20));
  });

  it('rotate: the old one lives 24 hours more, then only the newest', async () => {
    const { id, secret } = await add();
    const rotated = await rotate(id);
    expect(rotated?.id).toBe(id);
    expect(rotated?.secret).not.toBe(secret);
    expect(await live(id)).toEqual([rotated?.secret, secret]);
    const [old] = await world.owner<{ hours: number }[]>`
      SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 / 3600 AS hours FROM webhook_secrets
       WHERE endpoint_id = ${id} AND expires_at IS NOT NULL`;
    expect(old?.hours).toBeCloseTo(24, 1);
    await world.owner`UPDATE webhook_secrets SET expires_at = now() - interval '1 s'
      WHERE endpoint_id = ${id} AND expires_at IS NOT NULL`;
    expect(await live(id)).toEqual([rotated?.secret]);
    const third = await rotate(id);
    expect(await live(id)).toEqual([third?.secret, rotated?.secret]);
    expect(await world.owner`SELECT id FROM webhook_secrets WHERE endpoint_id = ${id}`).toHaveLength(2);
  });

  it('rotate without an id at the oldest enabled endpoint, whose newest one old clients are shown', async () => {
    expect(await rotate()).toBeUndefined();
    const first = await add();
    const second = await add();
    const rotated = await rotate();
    expect(rotated?.id).toBe(first.id);
    const newest = () => inside((tx) => newestSecretOfOldestEndpoint(world.ctx, tx));
    expect(await newest()).toBe(rotated?.secret);
    await inside((tx) => disableEndpoint(tx, first.id, 'by hand'));
    expect((await rotate())?.id).toBe(second.id);
    expect(await rotate('wh_unknown')).toBeUndefined();
  });

  it('rotated by two requests at once leave one newest secret', async () => {
    const { id } = await add();
    await Promise.all([rotate(id), rotate(id), rotate(id)]);
    const rows = await world.owner`
      SELECT id FROM webhook_secrets WHERE endpoint_id = ${id} AND expires_at IS NULL`;
    expect(rows).toHaveLength(1);
    expect(await live(id)).toHaveLength(4);
  });
});
