import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { bindings } from '../../../src/product/accounts/accounts.ts';
import { addSecret } from '../../../src/product/clients/secrets.ts';
import { createClientCommand } from '../../../src/surfaces/cli/credentials.ts';
import { apiAs, expectApiError, newClient, withDatabase } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';
import { type LinkSteps, linkSteps } from '../../linking/linkSteps.ts';
import { tablesContaining } from '../support/databaseState.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';
import { readOperations } from '../support/publishedOperations.ts';

let fixture: TestSandbox;
let steps: LinkSteps;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture);
  steps = linkSteps(fixture);
});
afterAll(() => fixture.close());

/** Creates a client with the CLI command and returns what it prints. */
async function createOnTerminal(
  mode: 'live' | 'test',
): Promise<{ client_id: string; client_secret: string; output: string }> {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await createClientCommand(loadConfig(fixture.env), { name: `A ${mode} client`, mode });
    const output = write.mock.calls.map(([text]) => `${text}`).join('');
    const [client_id = '', client_secret = ''] = [/client_id\s+(\S+)/, /client_secret\s+(\S+)/].map(
      (form) => form.exec(output)?.[1],
    );
    return { client_id, client_secret, output };
  } finally {
    write.mockRestore();
  }
}
const emrs = (api: Api, client_secret?: string) =>
  api.call('GET', '/link/emrs', { headers: { access_token: null, ...(client_secret && { client_secret }) } });
const publicToken = async (staff = 1) => (await steps.signIn(await steps.linkToken(), staff)).body.public_token;

test(row('DEC-005'), async () => {
  const created = await createOnTerminal('live');
  expect(created).toMatchObject({
    client_id: expect.stringMatching(/^ci_live_[\w-]+$/),
    client_secret: expect.stringMatching(/^cs_live_[\w-]+$/),
  });
  expect((await emrs(apiAs(fixture, created))).status).toBe(200);
});

test(row('DEC-006'), async () => {
  const created = await createOnTerminal('test');
  for (const { client_id, client_secret } of [created, fixture.sandbox]) {
    expect(client_id).toMatch(/^ci_test_[\w-]+$/);
    expect(client_secret).toMatch(/^cs_test_[\w-]+$/);
    expect((await emrs(apiAs(fixture, { client_id, client_secret }))).status).toBe(200);
  }
});

test(row('DEC-007'), async () => {
  const { client_id, client_secret } = await createOnTerminal('test');
  expect(client_secret).toHaveLength('cs_test_'.length + 43);
  expect(Buffer.from(client_secret.slice('cs_test_'.length), 'base64url')).toHaveLength(32);
  // The audit trail names the client by its id too.
  expect(await tablesContaining(fixture, client_id)).toStrictEqual(['audit_records', 'clients']);
  expect(await tablesContaining(fixture, client_secret)).toStrictEqual([]);
  expect(await tablesContaining(fixture, client_secret.slice('cs_test_'.length))).toStrictEqual([]);
  const hash = createHash('sha256').update(client_secret).digest();
  const stored = await fixture.owner`SELECT public_id FROM client_secrets JOIN clients ON clients.id = client_id
    WHERE secret_hash = ${hash}`;
  expect(stored.map(({ public_id }) => public_id)).toStrictEqual([client_id]);
});

test(row('DEC-008'), async () => {
  const created = await createOnTerminal('test');
  expect(created.output.split(created.client_secret)).toHaveLength(2);
  const own = apiAs(fixture, created);
  const access_token = await own.link({ user_id: 'shown', org_id: 'shown', staff: 2 });
  const api = apiAs(fixture, { ...created, access_token });
  for (const { method, url } of await readOperations(api, '/')) {
    const { body, headers } = await api.call(method, url);
    expect(JSON.stringify([body, ...headers]), url).not.toContain(created.client_secret);
  }
});

test(row('DEC-009'), async () => {
  const { id, client_secret, api } = await newClient(fixture);
  const second = await withDatabase(fixture, (db) => db.tenant(id, (tx) => addSecret(tx, id, 'test')));
  expect(second).not.toBe(client_secret);
  await until('the second secret', async () => (await emrs(api, second)).status === 200);
  for (const each of [client_secret, second, client_secret, second]) {
    expect((await emrs(api, each)).status).toBe(200);
  }
});

test(row('DEC-010'), async () => {
  const token = await steps.linkToken();
  expect(token).toMatch(/^lt_[\w-]+$/);
  expect((await steps.signIn(token, 1)).status).toBe(200);
  for (const staff of [1, 2]) {
    expectApiError(await steps.signIn(token, staff), 400, 'Invalid or expired link_token.', 'link_token');
  }
});

test(row('DEC-011'), async () => {
  for (const [org_id, seconds, status] of [
    ['early-org', 29 * 60, 200],
    ['late-org', 30 * 60, 400],
  ] as const) {
    const token = await steps.linkToken({ org_id });
    // Moves both times, as if it had been created earlier.
    await fixture.owner`UPDATE link_tokens SET created_at = created_at - make_interval(secs => ${seconds}),
      expires_at = expires_at - make_interval(secs => ${seconds}) WHERE org_id = ${org_id}`;
    const response = await steps.signIn(token, 1);
    expect(response.status, org_id).toBe(status);
    if (status === 400) expectApiError(response, 400, 'Invalid or expired link_token.', 'link_token');
  }
});

test(row('DEC-012'), async () => {
  const token = await publicToken();
  expect(token).toMatch(/^pt_[\w-]+$/);
  const responses = await Promise.all(Array.from({ length: 20 }, () => steps.exchange(token)));
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(responses.filter(({ status }) => status === 400)).toHaveLength(19);
  expect((await steps.exchange(token)).status).toBe(400);
});

test(row('DEC-013'), async () => {
  for (const [seconds, status] of [
    [29 * 60, 200],
    [30 * 60, 400],
  ] as const) {
    const token = await publicToken();
    const hash = createHash('sha256').update(token).digest();
    const moved =
      await fixture.owner`UPDATE public_tokens SET created_at = created_at - make_interval(secs => ${seconds}),
      expires_at = expires_at - make_interval(secs => ${seconds}) WHERE token_hash = ${hash} RETURNING 1`;
    expect(moved).toHaveLength(1);
    const response = await steps.exchange(token);
    expect(response.status, `${seconds}`).toBe(status);
    if (status === 400) expectApiError(response, 400, 'Invalid or expired public_token.', 'public_token');
  }
});

test(row('DEC-014'), async () => {
  const other = await newClient(fixture);
  const token = await publicToken();
  expectApiError(await steps.exchange(token, other.api), 400, 'Invalid or expired public_token.', 'public_token');
  expect((await steps.exchange(token)).status).toBe(200);
});

test(row('DEC-015'), async () => {
  const access_token = await fixture.api.link({ user_id: 'opaque-user', org_id: 'opaque-org', staff: 3 });
  expect(access_token).toMatch(/^[\w-]{43}$/);
  expect(Buffer.from(access_token, 'base64url')).toHaveLength(32);
  expect(Buffer.from(access_token, 'base64url').toString('latin1')).not.toMatch(/opaque|user|org/);
  const status = async () => (await apiAs(fixture, { access_token }).call('GET', '/v1/providers')).status;
  await fixture.owner`UPDATE accounts SET created_at = created_at - interval '10 years',
    linked_at = linked_at - interval '10 years' WHERE user_id = 'opaque-user'`;
  await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
  expect(await status()).toBe(200);
  await fixture.owner`UPDATE accounts SET status = 'revoked' WHERE user_id = 'opaque-user'`;
  await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
  await until('the token to become invalid', async () => (await status()) === 401);
});

test(row('DEC-016'), async () => {
  const access_token = await fixture.api.link({ user_id: 'sealed-user', org_id: 'sealed-org', staff: 4 });
  expect(await tablesContaining(fixture, access_token)).toStrictEqual([]);
  expect(await tablesContaining(fixture, Buffer.from(access_token, 'base64url').toString('hex'))).toStrictEqual([]);
  type Stored = { id: string; client_id: string; token_hash: Buffer; token_sealed: Buffer };
  const [row] = await fixture.owner<Stored[]>`SELECT id, client_id, token_hash, token_sealed FROM accounts
    WHERE user_id = 'sealed-user'`;
  if (!row) throw new Error('The account is not stored.');
  expect(row.token_hash).toStrictEqual(createHash('sha256').update(access_token).digest());
  const { db, vault } = fixture.ctx;
  const opened = await db.tenant(row.client_id, (tx) => vault.unseal(tx, row.token_sealed, bindings.token(row.id)));
  expect(opened).toBe(access_token);
});

test('a third secret invalidates the oldest one', async () => {
  const { id, client_secret: first, api } = await newClient(fixture);
  const add = () => withDatabase(fixture, (db) => db.tenant(id, (tx) => addSecret(tx, id, 'test')));
  // Without a notification, a process caches a caller for 30 s.
  const polling = { timeout: 20_000 };
  const second = await add();
  await expect.poll(async () => (await emrs(api, second)).status, polling).toBe(200);
  expect((await emrs(api, first)).status).toBe(200);
  const third = await add();
  await expect.poll(async () => (await emrs(api, first)).status, polling).toBe(401);
  for (const secret of [second, third]) expect((await emrs(api, secret)).status).toBe(200);
});
