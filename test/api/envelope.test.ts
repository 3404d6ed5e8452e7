import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { apiOf, expectRefusal, raw } from './support.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

const request_id = /^[0-9a-f]{32}$/;

describe('every response', () => {
  test.each([
    ['a read', 'GET', '/v1/providers', undefined, 200],
    ['a refused query', 'GET', '/v1/patients?page=0', undefined, 400],
    ['malformed JSON', 'POST', '/v1/sync', '{', 400],
    ['a route that does not exist', 'GET', '/v1/nowhere', undefined, 404],
    ['a record that does not exist', 'GET', '/v1/jobs/999999', undefined, 404],
    ['health', 'GET', '/healthz', undefined, 200],
    ['readiness', 'GET', '/readyz', undefined, 200],
    ['metrics', 'GET', '/metrics', undefined, 200],
    ['the reference', 'GET', '/docs', undefined, 200],
  ])('has x-request-id: %s', async (_case, method, path, body, status) => {
    const answer = await world.api.call(method, path, body === undefined ? {} : { body });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-request-id')).toMatch(request_id);
  });

  test('has its own request id, even if the caller sends one', async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const answer = await world.api.call('GET', '/healthz', { headers: { 'x-request-id': 'mine' } });
        return answer.headers.get('x-request-id');
      }),
    );
    expect(new Set(ids).size).toBe(5);
    expect(ids).not.toContain('mine');
  });
});

describe('an error', () => {
  test('for an unknown route names method and path without the query, for every caller', async () => {
    const answer = await world.api.call('GET', '/v1/nowhere?patient=Jane', { headers: { client_id: null } });
    expectRefusal(answer, 404, 'No such endpoint: GET /v1/nowhere');
  });

  test('names the invalid field', async () => {
    expectRefusal(await world.api.call('GET', '/v1/patients?page=0'), 400, 'page must be at least 1', 'page');
    expectRefusal(await world.api.callIn({ caller: 5 }), 400, 'caller must be a string', 'caller');
  });

  test.each([
    ['an address that cannot be decoded', { path: '/v1/jobs/%ZZ' }, 400],
    ['an address with half a character', { path: '/v1/jobs/%E0%A4%A' }, 400],
    ['headers beyond what is read', { path: '/healthz', headers: { filler: 'x'.repeat(40_000) } }, 431],
  ])('has the same format if the request fails before routing: %s', async (_case, sent, status) => {
    const answer = await raw(world.sandbox.base_url, { method: 'GET', ...sent });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toStrictEqual({
      success: false,
      message: expect.any(String),
      code: expect.stringMatching(/^[a-z_]+$/),
      request_id: answer.headers['x-request-id'],
    });
    expect(answer.headers['x-request-id']).toMatch(request_id);
  });

  test('has the same format for a request that is not HTTP', async () => {
    const { createConnection } = await import('node:net');
    const { port, hostname } = new URL(world.sandbox.base_url);
    const text = await new Promise<string>((resolve, reject) => {
      let received = '';
      const socket = createConnection(Number(port), hostname, () => socket.write('NONSENSE\r\n\r\n'));
      socket.on('data', (chunk) => {
        received += chunk.toString();
      });
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
    });
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ success: false, message: expect.any(String) });
    expect(text).toMatch(/x-request-id: [0-9a-f]{32}/i);
  });
});

describe('an account that needs to be re-linked', () => {
  test('gets 403 with exactly the three fields of login_required, except from endpoints that report what happened', async () => {
    const access_token = await world.api.link({ user_id: 'expiring', staff: 3 });
    await world.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = 'expiring'`;
    await world.owner`SELECT pg_notify('chartwire_access', '')`;
    const api = apiOf(world, { access_token });
    // Without a notification, a process caches an account for 30 s.
    await expect.poll(async () => (await api.call('GET', '/v1/providers')).status, { timeout: 20_000 }).toBe(403);
    for (const [method, path] of [
      ['GET', '/v1/providers'],
      ['GET', '/v1/patients'],
      ['POST', '/v1/telephone-encounters'],
      ['POST', '/v1/sync'],
    ] as const) {
      const answer = await api.call(method, path);
      expect(answer.status).toBe(403);
      expect(answer.body).toStrictEqual({
        success: false,
        error: 'login_required',
        message: expect.stringMatching(/expired/),
      });
      expect(answer.headers.get('x-request-id')).toMatch(request_id);
    }
    for (const path of ['/v1/webhook-events', '/v1/webhook', '/link/emrs']) {
      expect((await api.call('GET', path)).status).toBe(200);
    }
    expectRefusal(await api.call('GET', '/v1/jobs/999999'), 404, "Job with ID '999999' not found.", 'job_id');
  });
});
