import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addSecret } from '../../src/clients/clients.ts';
import { loadConfig } from '../../src/config.ts';
import { startService } from '../../src/main.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { apiOf, expectRefusal, newClient, type OtherClient, withDatabase } from './support.ts';

let world: TestSandbox;
let other: OtherClient;
let foreign_token: string;
beforeAll(async () => {
  world = await startSandbox();
  other = await newClient(world);
  foreign_token = await other.api.link({ user_id: 'foreign-user', org_id: 'foreign-org', staff: 1 });
});
afterAll(() => world.close());

const wrong_client = 'Invalid client credentials.';
const wrong_token = 'User not found.';

describe('the client credentials', () => {
  test.each([
    ['no headers at all', { client_id: null, client_secret: null, access_token: null }],
    ['no client_id', { client_id: null }],
    ['no client_secret', { client_secret: null }],
    ['an empty client_id', { client_id: '' }],
    ['an empty client_secret', { client_secret: '' }],
    ['an unknown client_id', { client_id: 'ci_test_000000000000000000000000' }],
    ['a wrong client_secret', { client_secret: 'cs_test_wrong' }],
    ['a client_id that is no text of ours', { client_id: "' OR 1=1 --\u00e9" }],
  ])('%s: 401 Invalid client credentials.', async (_case, headers: Record<string, string | null>) => {
    for (const [method, path] of [
      ['GET', '/v1/providers'],
      ['GET', '/v1/webhook'],
      ['GET', '/link/emrs'],
      ['POST', '/link/token/create'],
    ] as const) {
      expectRefusal(await world.api.call(method, path, { headers }), 401, wrong_client);
    }
  });

  test("another client's secret is rejected", async () => {
    const headers = { client_secret: other.client_secret };
    expectRefusal(await world.api.call('GET', '/v1/providers', { headers }), 401, wrong_client);
  });

  test('wrong credentials are reported before an invalid access token, query or body', async () => {
    const headers = { client_secret: 'wrong', access_token: 'wrong' };
    expectRefusal(await world.api.call('GET', '/v1/providers?nonsense=1', { headers }), 401, wrong_client);
    expectRefusal(await world.api.call('POST', '/v1/sync', { headers, body: '{' }), 401, wrong_client);
  });

  test('the spellings with hyphens are accepted, for proxies that drop underscores', async () => {
    const { client_id, client_secret, access_token } = world.sandbox;
    const without = { client_id: null, client_secret: null, access_token: null };
    const twins = { 'client-id': client_id, 'client-secret': client_secret, 'access-token': access_token };
    const answer = await world.api.call('GET', '/v1/providers', { headers: { ...without, ...twins } });
    expect(answer.status).toBe(200);
    const mixed = { ...without, client_id, 'client-secret': client_secret, 'access-token': 'wrong' };
    expectRefusal(await world.api.call('GET', '/v1/providers', { headers: mixed }), 401, wrong_token);
  });
});

describe('the access token', () => {
  test('missing: 401 Missing access_token header.', async () => {
    for (const access_token of [null, '']) {
      const answer = await world.api.call('GET', '/v1/providers', { headers: { access_token } });
      expectRefusal(answer, 401, 'Missing access_token header.');
      expect(answer.body.code).toBe('access_token_missing');
    }
  });

  test('unknown or of another client: the same 401 User not found.', async () => {
    const answers = [];
    for (const access_token of ['nonsense', 'x'.repeat(5000), foreign_token]) {
      const answer = await world.api.call('GET', '/v1/providers', { headers: { access_token } });
      expectRefusal(answer, 401, wrong_token);
      answers.push({ ...answer.body, request_id: '' });
    }
    expect(new Set(answers.map((each) => JSON.stringify(each))).size).toBe(1);
  });

  test('invalid: reported before errors in the body of a telephone encounter', async () => {
    expectRefusal(await world.api.callIn({ patient_mrn: '' }, { access_token: 'nonsense' }), 401, wrong_token);
  });

  test('is optional for /link and /v1/webhook, but must be valid if sent', async () => {
    for (const path of ['/link/emrs', '/v1/webhook']) {
      expect((await world.api.call('GET', path, { headers: { access_token: null } })).status).toBe(200);
      expect((await world.api.call('GET', path)).status).toBe(200);
      for (const access_token of ['nonsense', foreign_token]) {
        expectRefusal(await world.api.call('GET', path, { headers: { access_token } }), 401, wrong_token);
      }
    }
  });

  test('is required by /v1/webhook-events and /v1/jobs', async () => {
    for (const path of ['/v1/webhook-events', '/v1/jobs/1']) {
      const answer = await world.api.call('GET', path, { headers: { access_token: null } });
      expectRefusal(answer, 401, 'Missing access_token header.');
    }
  });
});

/** Without a notification, a process caches a caller for 30 s. */
const before_forgotten = { timeout: 20_000 };

describe('a revoked token', () => {
  test('is rejected by every process within a second after the notification', async () => {
    const access_token = await world.api.link({ user_id: 'soon-revoked', staff: 2 });
    const config = loadConfig({ ...world.env, PORT: '0' });
    const second = await startService(config, { role: 'api', print: () => {} });
    try {
      const doors = [
        apiOf(world, { access_token }),
        apiOf({ ...world, sandbox: { ...world.sandbox, base_url: second.base_url } }, { access_token }),
      ];
      for (const door of doors) expect((await door.call('GET', '/v1/providers')).status).toBe(200);
      await world.owner`UPDATE accounts SET status = 'revoked' WHERE user_id = 'soon-revoked'`;
      await world.owner`SELECT pg_notify('chartwire_access', '')`;
      for (const door of doors) {
        await expect.poll(async () => (await door.call('GET', '/v1/providers')).status, before_forgotten).toBe(401);
        expectRefusal(await door.call('GET', '/v1/providers'), 401, wrong_token);
        expectRefusal(await door.call('GET', '/v1/webhook'), 401, wrong_token);
      }
    } finally {
      await second.close();
    }
  });
});

describe('client secrets', () => {
  test('two are valid at a time; a third one invalidates the oldest within a second', async () => {
    const client = await newClient(world);
    const next = () => withDatabase(world, (db) => db.tenant(client.id, (tx) => addSecret(tx, client.id, 'test')));
    const status = async (client_secret: string) =>
      (await client.api.call('GET', '/link/emrs', { headers: { client_secret, access_token: null } })).status;
    const first = client.client_secret;
    expect(await status(first)).toBe(200);
    const second = await next();
    await expect.poll(() => status(second), before_forgotten).toBe(200);
    expect(await status(first)).toBe(200);
    const third = await next();
    await expect.poll(() => status(first), before_forgotten).toBe(401);
    expect([await status(second), await status(third)]).toStrictEqual([200, 200]);
  });
});
