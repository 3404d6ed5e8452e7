import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import type { Access, Connector } from '../../src/emr/connector.ts';
import { checkMasterKey } from '../../src/platform/security/keys.ts';
import { identified } from '../../src/platform/security/masterKeys.ts';
import { createVault } from '../../src/platform/security/vault.ts';
import { telemetry_off } from '../../src/platform/telemetry/telemetry.ts';
import { bindings } from '../../src/product/accounts/accounts.ts';
import { connectAccount } from '../../src/product/accounts/connectAccount.ts';
import type { Context } from '../../src/product/context.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
let ctx: Context;
let opened: Access[];
const master = { current: identified(randomBytes(32)) };
beforeAll(async () => {
  fixture = await openFixture();
  await checkMasterKey(fixture.owner, master);
  const connector: Partial<Connector> = {
    limits: { parallel_max: 4 },
    capabilities: [],
    open: (_endpoint, access) => {
      opened.push(access);
      return {};
    },
  };
  // The parts of the context that are used here.
  ctx = {
    ...{ db: fixture.db, vault: createVault(master), telemetry: telemetry_off, config: { sandbox: false } },
    connectors: new Map([['larkspur', connector]]),
  } as unknown as Context;
});
afterAll(() => fixture.close());
beforeEach(() => {
  opened = [];
});

const { signal } = new AbortController();
const open = ({ client_id, account_id }: Tenant, id?: number) =>
  connectAccount(ctx, { client_id, account_id, ...(id !== undefined && { id }) }, signal);

/** Stores what a sign-in with this password would store. */
async function link({ client_id, account_id }: Tenant, password: string): Promise<void> {
  const seal = (binding: string, value: object) =>
    fixture.db.tenant(client_id, (tx) =>
      ctx.vault.seal(tx, { client_id, owner_id: account_id }, binding, JSON.stringify(value)),
    );
  const credentials = await seal(bindings.credentials(account_id), { password });
  const grant = await seal(bindings.grant(account_id), { session_token: `session of ${password}` });
  await fixture.owner`UPDATE accounts SET credentials_sealed = ${credentials}, grant_sealed = ${grant}, status = 'active',
    linked_at = clock_timestamp() WHERE id = ${account_id}`;
}

test('jobs of several accounts that open them together each get their own credentials', async () => {
  const second = await createTenant(fixture.owner, { client_id: fixture.tenant.client_id });
  const foreign = await createTenant(fixture.owner);
  const tenants = [fixture.tenant, second, foreign];
  for (const [n, tenant] of tenants.entries()) await link(tenant, `password ${n}`);
  // The vault has not used these data keys yet, and then it has.
  ctx = { ...ctx, vault: createVault(master) };
  for (const jobs of [tenants, [...tenants, ...tenants, ...tenants]]) {
    opened = [];
    const accounts = await Promise.all(jobs.map((tenant) => open(tenant)));
    expect(accounts.map(({ account }) => account.id)).toStrictEqual(jobs.map(({ account_id }) => account_id));
    expect(opened.map(({ credentials }) => credentials.password).sort()).toStrictEqual(
      jobs.map((tenant) => `password ${tenants.indexOf(tenant)}`).sort(),
    );
    for (const { credentials, grant } of opened) expect(grant.session_token).toBe(`session of ${credentials.password}`);
  }
});

test('a job uses what was stored when it opened the account, also directly after a re-link', async () => {
  await link(fixture.tenant, 'first');
  await open(fixture.tenant);
  await link(fixture.tenant, 'second');
  await Promise.all([open(fixture.tenant), open(fixture.tenant)]);
  expect(opened.map(({ credentials }) => credentials.password)).toStrictEqual(['first', 'second', 'second']);
});

test('one account that cannot be opened does not fail those that are opened with it', async () => {
  const [expired, revoked, unlinked] = await Promise.all(
    [1, 2, 3].map(() => createTenant(fixture.owner, { client_id: fixture.tenant.client_id })),
  );
  if (!expired || !revoked || !unlinked) throw new Error('Expected three accounts.');
  for (const tenant of [fixture.tenant, expired, revoked, unlinked]) await link(tenant, 'p');
  const job_id = await fixture.queue('lane', unlinked);
  await fixture.owner`UPDATE accounts SET status = 'login_required' WHERE id = ${expired.account_id}`;
  await fixture.owner`UPDATE accounts SET status = 'revoked' WHERE id = ${revoked.account_id}`;
  // Linked again since: the job belongs to whoever was linked before.
  await fixture.owner`UPDATE accounts SET unlinked_at = clock_timestamp() WHERE id = ${unlinked.account_id}`;
  const unknown = { ...fixture.tenant, account_id: newId() };
  const results = await Promise.allSettled([
    ...[open(fixture.tenant), open(expired), open(revoked, 1), open(unlinked, job_id), open(unknown)],
  ]);
  expect(results.map((result) => (result.status === 'fulfilled' ? 'opened' : result.reason.code))).toStrictEqual([
    ...['opened', 'login_required', 'account_unlinked', 'account_unlinked', 'login_required'],
  ]);
});

test('an account of another client is not opened', async () => {
  const foreign = await createTenant(fixture.owner);
  await link(foreign, 'foreign');
  await open(foreign);
  await expect(open({ ...foreign, client_id: fixture.tenant.client_id })).rejects.toThrow(
    'The account link has expired',
  );
});
