import { beforeAll, describe, expect, test } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { apiAs, expectAdvice, expectApiError, raw, sendBytes } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const request_id = /^[0-9a-f]{32}$/;

describe('every response', () => {
  test.each([
    ['a read', 'GET', '/v1/providers', undefined, 200],
    ['a rejected query', 'GET', '/v1/patients?page=0', undefined, 400],
    ['malformed JSON', 'POST', '/v1/sync', '{', 400],
    ['a route that does not exist', 'GET', '/v1/nowhere', undefined, 404],
    ['a record that does not exist', 'GET', '/v1/jobs/999999', undefined, 404],
    ['health', 'GET', '/healthz', undefined, 200],
    ['readiness', 'GET', '/readyz', undefined, 200],
    ['metrics', 'GET', '/metrics', undefined, 200],
    ['the reference', 'GET', '/docs', undefined, 200],
  ])('has x-request-id and forbids guessing its type: %s', async (_case, method, path, body, status) => {
    const response = await fixture.api.call(method, path, body === undefined ? {} : { body });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-request-id')).toMatch(request_id);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('has its own request id, even if the caller sends one', async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const response = await fixture.api.call('GET', '/healthz', { headers: { 'x-request-id': 'mine' } });
        return response.headers.get('x-request-id');
      }),
    );
    expect(new Set(ids).size).toBe(5);
    expect(ids).not.toContain('mine');
  });
});

test('a page may not use the camera, the microphone or the location', async () => {
  for (const path of ['/docs', '/dashboard', '/link']) {
    const policy = (await fixture.api.call('GET', path)).headers.get('permissions-policy');
    expect(policy, path).toMatch(/camera=\(\).*geolocation=\(\).*microphone=\(\)/);
  }
});

test('a request with two Host headers is rejected, also if they are equal', async () => {
  const { host } = new URL(fixture.sandbox.base_url);
  for (const second of ['elsewhere.test', host]) {
    const text = await sendBytes(
      fixture.sandbox.base_url,
      `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nhOst: ${second}\r\nConnection: close\r\n\r\n`,
    );
    expect(text, second).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('request_malformed');
  }
});

describe('caching', () => {
  test.each([
    ['a secret', 'GET', '/v1/webhook', 200],
    ['a rejected query', 'GET', '/v1/patients?page=0', 400],
    ['a record that does not exist', 'GET', '/v1/jobs/999999', 404],
    ['a route that does not exist', 'GET', '/v1/nowhere', 404],
    ['an unknown link token', 'GET', '/link/v1/session', 404],
    ['the session', 'GET', '/dashboard/api/session', 200],
    ['metrics', 'GET', '/metrics', 200],
    ['a malformed body', 'POST', '/v1/sync', 400],
    ['an unknown receiver', 'POST', '/receiver/unknown', 404],
    ['the Link page', 'GET', '/link?token=unknown', 404],
  ])('is forbidden by default: %s', async (_case, method, path, status) => {
    const response = await fixture.api.call(method, path, method === 'POST' ? { body: '{' } : {});
    expect([response.status, response.headers.get('cache-control')]).toStrictEqual([status, 'no-store']);
  });

  test('is forbidden for errors before routing', async () => {
    const headers = { filler: 'x'.repeat(40_000) };
    const response = await raw(fixture.sandbox.base_url, { method: 'GET', path: '/v1/patients', headers });
    expect([response.status, response.headers['cache-control']]).toStrictEqual([431, 'no-store']);
  });

  test('is allowed for public keys', async () => {
    const { headers } = await fixture.api.call('GET', `/.well-known/jwks/${fixture.sandbox.client_id}/sandbox.json`);
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
  });
});

describe('an error', () => {
  test('an error for an unknown route names method and path without the query, for every caller', async () => {
    const response = await fixture.api.call('GET', '/v1/nowhere?patient=Jane', { headers: { client_id: null } });
    expectApiError(response, 404, 'No such endpoint: GET /v1/nowhere');
  });

  test('names the invalid field', async () => {
    expectApiError(await fixture.api.call('GET', '/v1/patients?page=0'), 400, 'page must be at least 1', 'page');
    expectApiError(await fixture.api.callIn({ caller: 5 }), 400, 'caller must be a string', 'caller');
  });

  test.each([
    ['a URL that cannot be decoded', { path: '/v1/jobs/%ZZ' }, 400],
    ['a URL with half a character', { path: '/v1/jobs/%E0%A4%A' }, 400],
    ['oversized headers', { path: '/healthz', headers: { filler: 'x'.repeat(40_000) } }, 431],
  ])('has the same format if the request fails before routing: %s', async (_case, sent, status) => {
    const response = await raw(fixture.sandbox.base_url, { method: 'GET', ...sent });
    expect(response.status).toBe(status);
    const body = JSON.parse(response.text);
    expect(body).toStrictEqual({
      success: false,
      message: expect.any(String),
      code: expect.stringMatching(/^[a-z_]+$/),
      request_id: response.headers['x-request-id'],
      ...(body.code === 'invalid_field' && { errors: [{ field: null, code: body.code, message: body.message }] }),
      ...expectAdvice(body),
    });
    expect(response.headers['x-request-id']).toMatch(request_id);
  });

  test('has the same format for a request that is not HTTP', async () => {
    const text = await sendBytes(fixture.sandbox.base_url, 'NONSENSE\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ success: false, message: expect.any(String) });
    expect(text).toMatch(/x-request-id: [0-9a-f]{32}/i);
  });
});

describe('an account that needs to be re-linked', () => {
  test('gets 403 with exactly the three fields of login_required, except from endpoints that report what happened', async () => {
    const access_token = await fixture.api.link({ user_id: 'expiring', staff: 3 });
    await fixture.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = 'expiring'`;
    await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
    const api = apiAs(fixture, { access_token });
    // Without a notification, a process caches an account for 30 s.
    await expect.poll(async () => (await api.call('GET', '/v1/providers')).status, { timeout: 20_000 }).toBe(403);
    for (const [method, path] of [
      ['GET', '/v1/providers'],
      ['GET', '/v1/patients'],
      ['POST', '/v1/telephone-encounters'],
      ['POST', '/v1/sync'],
    ] as const) {
      const response = await api.call(method, path);
      expect(response.status).toBe(403);
      expect(response.body).toStrictEqual({
        success: false,
        error: 'login_required',
        message: expect.stringMatching(/expired/),
      });
      expect(response.headers.get('x-request-id')).toMatch(request_id);
    }
    for (const path of ['/v1/webhook-events', '/v1/webhook', '/link/emrs']) {
      expect((await api.call('GET', path)).status).toBe(200);
    }
    expectApiError(await api.call('GET', '/v1/jobs/999999'), 404, "Job with ID '999999' not found.", 'job_id');
  });
});
