import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiError } from '../../src/catalog/errors.ts';
import { disableEndpoint, removeEndpoint } from '../../src/product/webhooks/disableEndpoint.ts';
import { listEndpoints } from '../../src/product/webhooks/endpoints.ts';
import { addEndpoint } from '../../src/product/webhooks/registration.ts';
import { newestSecretOfOldestEndpoint, readLiveSecrets, rotateSecret } from '../../src/product/webhooks/secrets.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import {
  claim,
  createFixture,
  deliverDue,
  emit,
  type Fixture,
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
  tenant = await createTenant(fixture.owner);
});
afterAll(() => fixture.close());

let registered = 0;
const inTenant = <T>(work: Parameters<Fixture['db']['tenant']>[1]) =>
  fixture.db.tenant(tenant.client_id, work) as Promise<T>;
const add = (event_types?: ['sync.failed']) =>
  fixture.db.tenant(tenant.client_id, (tx) => {
    // A URL that is already registered would keep its endpoint.
    registered += 1;
    const url = `https://app.example.org/hooks?key=${registered}`;
    return addEndpoint(fixture.ctx, tx, tenant.client_id, { url, event_types });
  });
const rotate = (id?: string) =>
  fixture.db.tenant(tenant.client_id, (tx) => rotateSecret(fixture.ctx, tx, tenant.client_id, { endpoint_id: id }));
const live = (id: string) => fixture.db.tenant(tenant.client_id, (tx) => readLiveSecrets(fixture.ctx.vault, tx, id));

describe('endpoints', () => {
  it('are limited per client, also for concurrent registrations; a known URL can be registered again', async () => {
    const { client_id } = await createTenant(fixture.owner);
    const ctx = { ...fixture.ctx, config: { ...fixture.ctx.config, webhook_endpoints: 2 } };
    const register = (n: number) =>
      fixture.db.tenant(client_id, (tx) => addEndpoint(ctx, tx, client_id, { url: `https://app.example.org/${n}` }));
    const results = await Promise.allSettled([1, 2, 3, 4].map(register));
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(2);
    expect(refused[0]?.reason).toMatchObject({ code: 'webhook_endpoints_max' });
    const [known] = await fixture.owner<
      { url: string }[]
    >`SELECT url FROM webhook_endpoints WHERE client_id = ${client_id}`;
    await register(Number(known?.url.slice(-1)));
  });

  it('are listed oldest first, with their event types', async () => {
    const first = await add();
    const second = await add(['sync.failed']);
    expect(first.id).toMatch(/^wh_[0-9a-f]{24}$/);
    expect(first.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(second.secret).not.toBe(first.secret);
    const listed = await fixture.db.tenant(tenant.client_id, listEndpoints);
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
    'are rejected at %s',
    async (url) => {
      const adding = inTenant((tx) => addEndpoint(fixture.ctx, tx, tenant.client_id, { url }));
      await expect(adding).rejects.toSatisfy(
        (error) => error instanceof ApiError && error.code === 'webhook_url_refused' && error.field === 'webhook_url',
      );
      expect(await inTenant(listEndpoints)).toEqual([]);
    },
  );

  it('cannot be read, removed or rotated by another tenant', async () => {
    const { id, secret } = await add();
    const other = await createTenant(fixture.owner);
    await fixture.db.tenant(other.client_id, async (tx) => {
      expect(await listEndpoints(tx)).toEqual([]);
      expect(await removeEndpoint(tx, id)).toBeUndefined();
      expect(await rotateSecret(fixture.ctx, tx, other.client_id, { endpoint_id: id })).toBeUndefined();
      expect(await disableEndpoint(tx, id, 'no')).toBe(false);
      expect(await readLiveSecrets(fixture.ctx.vault, tx, id)).toEqual([]);
      expect(await newestSecretOfOldestEndpoint(fixture.ctx, tx)).toBeUndefined();
    });
    expect(await live(id)).toEqual([secret]);
  });

  it('are removed with their secrets and deliveries; events without other deliveries are no longer pending', async () => {
    const first = await add();
    const only_first = await emit(fixture, synced, tenant);
    const second = await add();
    const both = await emit(fixture, synced, tenant);
    expect(await inTenant((tx) => removeEndpoint(tx, first.id))).toMatchObject({ id: first.id });
    expect(await readStatus(fixture, only_first)).toBeNull();
    expect(await readStatus(fixture, both)).toBe('pending');
    expect((await readDeliveries(fixture, both)).map((row) => row.endpoint_id)).toEqual([second.id]);
    expect(await fixture.owner`SELECT id FROM webhook_secrets WHERE endpoint_id = ${first.id}`).toHaveLength(0);
    expect(await inTenant((tx) => removeEndpoint(tx, first.id))).toBeUndefined();
  });

  it('endpoints that are being removed do not block a running delivery, which would be a deadlock', async () => {
    // Deliveries of other tests have URLs that must not be called.
    await fixture.owner`UPDATE deliveries SET ready_at = NULL`;
    const { id, receiver } = await startEndpoint(fixture, undefined, {}, tenant);
    const event_id = await emit(fixture, synced, tenant);
    await fixture.owner.begin(async (removal) => {
      await removal`SELECT FROM webhook_endpoints WHERE id = ${id} FOR UPDATE`;
      await deliverDue(fixture);
    });
    expect(receiver.received).toHaveLength(1);
    expect(await readStatus(fixture, event_id)).toBe('success');
  });

  it('endpoints that are disabled get nothing more, and pending deliveries fail unless claimed', async () => {
    const { id } = await add();
    const taken = await emit(fixture, synced, tenant);
    await claim(fixture);
    const waiting = await emit(fixture, synced, tenant);
    expect(await inTenant((tx) => disableEndpoint(tx, id, 'disabled manually'))).toBe(true);
    expect(await inTenant((tx) => disableEndpoint(tx, id, 'again'))).toBe(false);
    expect(await readStatus(fixture, taken)).toBe('pending');
    expect(await readStatus(fixture, waiting)).toBe('failed');
    expect(await readDeliveries(fixture, waiting)).toMatchObject([{ status: 'failed', ready: false }]);
    expect(await readDeliveries(fixture, await emit(fixture, synced, tenant))).toEqual([]);
    expect(await inTenant(listEndpoints)).toMatchObject([{ status: 'disabled', disabled_reason: 'disabled manually' }]);
  });
});

describe('secrets', () => {
  it('are encrypted in the table', async () => {
    const { id, secret } = await add();
    const [row] = await fixture.owner<{ secret_sealed: Buffer }[]>`
      SELECT secret_sealed FROM webhook_secrets WHERE endpoint_id = ${id}`;
    expect(row?.secret_sealed.toString('latin1')).not.toContain(secret.slice(6, 20));
  });

  it('secrets that were rotated stay valid for 24 hours', async () => {
    const { id, secret } = await add();
    const rotated = await rotate(id);
    expect(rotated?.id).toBe(id);
    expect(rotated?.secret).not.toBe(secret);
    expect(await live(id)).toEqual([rotated?.secret, secret]);
    const [old] = await fixture.owner<{ hours: number }[]>`
      SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 / 3600 AS hours FROM webhook_secrets
       WHERE endpoint_id = ${id} AND expires_at IS NOT NULL`;
    expect(old?.hours).toBeCloseTo(24, 1);
    await fixture.owner`UPDATE webhook_secrets SET expires_at = now() - interval '1 s'
      WHERE endpoint_id = ${id} AND expires_at IS NOT NULL`;
    expect(await live(id)).toEqual([rotated?.secret]);
    const third = await rotate(id);
    expect(await live(id)).toEqual([third?.secret, rotated?.secret]);
    expect(await fixture.owner`SELECT id FROM webhook_secrets WHERE endpoint_id = ${id}`).toHaveLength(2);
  });

  it('are rotated at the oldest enabled endpoint without an id; its newest one is returned to old clients', async () => {
    expect(await rotate()).toBeUndefined();
    const first = await add();
    const second = await add();
    const rotated = await rotate();
    expect(rotated?.id).toBe(first.id);
    const newest = () => inTenant((tx) => newestSecretOfOldestEndpoint(fixture.ctx, tx));
    expect(await newest()).toBe(rotated?.secret);
    await inTenant((tx) => disableEndpoint(tx, first.id, 'disabled manually'));
    expect((await rotate())?.id).toBe(second.id);
    expect(await rotate('wh_unknown')).toBeUndefined();
  });

  it('rotated by concurrent requests leave one newest secret', async () => {
    const { id } = await add();
    await Promise.all([rotate(id), rotate(id), rotate(id)]);
    const rows = await fixture.owner`
      SELECT id FROM webhook_secrets WHERE endpoint_id = ${id} AND expires_at IS NULL`;
    expect(rows).toHaveLength(1);
    expect(await live(id)).toHaveLength(4);
  });
});
