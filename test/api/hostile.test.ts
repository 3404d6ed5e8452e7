import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { expectRefusal, raw } from './support.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

const mebibyte = 1_048_576;
const unstorable = 'contains a character that cannot be stored.';

function credentials(): Record<string, string> {
  const { client_id, client_secret, access_token } = world.sandbox;
  return { client_id, client_secret, access_token, 'content-type': 'application/json' };
}

function send(path: string, body: string | Buffer[], headers: Record<string, string> = {}) {
  const length = typeof body === 'string' ? { 'content-length': `${Buffer.byteLength(body)}` } : {};
  return raw(world.sandbox.base_url, {
    method: 'POST',
    path,
    headers: { ...credentials(), ...length, ...headers },
    body,
  });
}

/** A JSON body of exactly this many bytes, padded with white space. */
function padded(bytes: number): string {
  return `{"full":true${' '.repeat(bytes - 13)}}`;
}

describe('the size of a body', () => {
  test('1 MB is accepted; one more byte returns 413', async () => {
    expect(padded(mebibyte)).toHaveLength(mebibyte);
    const read = await send('/v1/sync', padded(mebibyte));
    expect([read.status, JSON.parse(read.text).message]).toStrictEqual([
      400,
      'Unexpected fields in request body: full',
    ]);
    const refused = await send('/v1/sync', padded(mebibyte + 1));
    expect([refused.status, JSON.parse(refused.text)]).toStrictEqual([
      413,
      {
        success: false,
        message: 'Request body exceeds 1 MB.',
        code: 'body_too_large',
        request_id: refused.headers['x-request-id'],
      },
    ]);
  });

  test('is checked without Content-Length', async () => {
    const chunks = (text: string) => (text.match(/[\s\S]{1,65536}/g) ?? []).map((part) => Buffer.from(part));
    const read = await send('/v1/sync', chunks(padded(mebibyte)));
    expect([read.status, JSON.parse(read.text).code]).toStrictEqual([400, 'unexpected_fields']);
    const refused = await send('/v1/sync', chunks(padded(mebibyte + 1)));
    expect([refused.status, JSON.parse(refused.text).code]).toStrictEqual([413, 'body_too_large']);
  });

  test('is measured in bytes, not characters', async () => {
    const refused = await send('/v1/sync', `{"full":"${'€'.repeat(400_000)}"}`);
    expect(refused.status).toBe(413);
  });

  test('is not checked for unauthenticated requests', async () => {
    const answer = await send('/v1/sync', padded(mebibyte + 1), { client_secret: 'wrong' });
    expect([answer.status, JSON.parse(answer.text).code]).toStrictEqual([401, 'client_credentials_invalid']);
  });
});

describe('the media type', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'nonsense',
    'application/jsonx',
    '',
  ])('%j returns 415', async (type) => {
    const answer = await send('/v1/sync', '{}', { 'content-type': type });
    expect([answer.status, JSON.parse(answer.text)]).toStrictEqual([
      415,
      {
        success: false,
        message: 'Content-Type must be application/json.',
        code: 'media_type_unsupported',
        request_id: answer.headers['x-request-id'],
      },
    ]);
  });

  test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8'])(
    '%j is accepted',
    async (type) => {
      expect((await send('/v1/sync', '{}', { 'content-type': type })).status).toBe(200);
    },
  );
});

describe('hostile bodies are rejected without delaying other requests', () => {
  const deep = (depth: number, core: string) => `{"reason":${'['.repeat(depth)}${core}${']'.repeat(depth)}}`;
  const keyed = (depth: number, core: string) => `{"reason":${'{"a":'.repeat(depth)}${core}${'}'.repeat(depth)}}`;

  test.each([
    ['10,000 arrays inside each other', () => deep(10_000, '1')],
    ['500,000 arrays inside each other', () => deep(500_000, '1')],
    ['10,000 arrays around a NUL', () => deep(10_000, '"\\u0000"')],
    ['500,000 arrays around a NUL', () => deep(500_000, '"\\u0000"')],
    ['150,000 objects inside each other', () => keyed(150_000, '1')],
    ['150,000 objects around half a character', () => keyed(150_000, '"\\ud800"')],
    ['100,000 unknown fields', () => `{${Array.from({ length: 70_000 }, (_, n) => `"f${n}":1`).join(',')}}`],
    ['a number of a million digits', () => `{"reason":${'9'.repeat(1_000_000)}}`],
    ['a list of half a million wrong elements', () => `{"reason":[${'1,'.repeat(500_000)}1]}`],
    ['a million escapes', () => `{"reason":"${'\\u0041'.repeat(170_000)}"}`],
  ])('%s', async (_case, body) => {
    const text = body();
    const before = process.cpuUsage();
    const answer = await send('/v1/telephone-encounters', text);
    const { user, system } = process.cpuUsage(before);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ success: false, request_id: answer.headers['x-request-id'] });
    // CPU time, not elapsed time, which depends on other load.
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  test('a list of event types of half a million elements', async () => {
    const body = `{"webhook_url":"http://127.0.0.1/","event_types":[${'"a",'.repeat(200_000)}"a"]}`;
    const answer = await send('/v1/webhook', body);
    expect(answer.status).toBe(400);
  });
});

describe('characters', () => {
  test.each([
    ['NUL', '\\u0000'],
    ['the first half of a pair', '\\ud83d'],
    ['the second half of a pair', '\\ude00'],
    ['the halves in the wrong order', '\\ude00\\ud83d'],
  ])('that cannot be stored are rejected with the field name: %s', async (_case, written) => {
    const answer = await world.api.call('POST', '/link/token/create', {
      body: `{"user_id":"a${written}b","org_id":"o"}`,
    });
    expectRefusal(answer, 400, `user_id ${unstorable}`, 'user_id');
    const nested = await world.api.call('POST', '/v1/webhook', {
      body: `{"webhook_url":"http://127.0.0.1/","event_types":["${written}"]}`,
    });
    expectRefusal(nested, 400, `event_types ${unstorable}`, 'event_types');
    const name = await world.api.call('POST', '/v1/sync', { body: `{"${written}":1}` });
    expectRefusal(name, 400, `A field name ${unstorable}`);
  });

  test('beyond ASCII are preserved', async () => {
    const org_id = 'Ωrg 🏥 \u{1F468}‍👩‍👧 é';
    const body = { user_id: 'usér-🙂', org_id, emr_name: 'larkspur', emr_instance_domain: world.sandbox.larkspur.url };
    const created = await world.api.call('POST', '/link/token/create', { body });
    expect(created.status).toBe(200);
    const [row] = await world.owner`SELECT user_id FROM link_tokens WHERE org_id = ${org_id}`;
    expect(row?.user_id).toBe('usér-🙂');
  });

  test('an MRN of 2,000 incompressible characters is accepted', async () => {
    const signs = Array.from({ length: 1999 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000)));
    const { status, body } = await world.api.callIn({ patient_mrn: `X${signs.join('')}` });
    expect(status, JSON.stringify(body)).toBe(200);
    expect((await world.api.untilEvent(body.job_id)).type).toBe('telephone_encounter.failed');
  });

  test('10,000 exceed the default limit of 2,000', async () => {
    const refused = await world.api.callIn({ message: 'x'.repeat(10_000) });
    expectRefusal(refused, 400, 'message exceeds maximum length of 2000 characters', 'message');
    const org_id = (length: number) => ({ user_id: 'u', org_id: 'o'.repeat(length), emr_name: 'no' });
    const over = await world.api.call('POST', '/link/token/create', { body: org_id(2001) });
    expectRefusal(over, 400, 'org_id exceeds maximum length of 2000 characters', 'org_id');
    const at = await world.api.call('POST', '/link/token/create', { body: org_id(2000) });
    expect(at.body.code).toBe('emr_name_unknown');
  });
});

describe('paths', () => {
  const webhooks = ['%00', 'wh_%00', '..%2f..%2fetc', 'a%2Fb', '%F0%9F%99%82', "'%20OR%201=1--", 'x'.repeat(500)];
  test.each(webhooks)('a malformed id returns 404 or 400, never 5xx: %s', async (id) => {
    for (const [method, path] of [
      ['GET', `/v1/jobs/${id}`],
      ['DELETE', `/v1/webhook/${id}`],
      ['POST', `/v1/webhook/${id}/rotate-secret`],
      ['POST', `/v1/webhook-events/${id}/resend`],
    ] as const) {
      const answer = await raw(world.sandbox.base_url, { method, path, headers: credentials() });
      expect([400, 404], `${method} ${path}`).toContain(answer.status);
      expect(JSON.parse(answer.text)).toMatchObject({ success: false, request_id: answer.headers['x-request-id'] });
    }
  });

  test.each(['x'.repeat(501), 'x'.repeat(10_000)])(
    'an id that is too long is rejected in the same format',
    async (id) => {
      const answer = await raw(world.sandbox.base_url, {
        method: 'GET',
        path: `/v1/jobs/${id}`,
        headers: credentials(),
      });
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.text)).toMatchObject({ success: false, request_id: answer.headers['x-request-id'] });
      expect(answer.text.length).toBeLessThan(500);
    },
  );

  test.each(['9223372036854775808', '99999999999999999999', '-1', '1.0', '0x1', '1e3', ' 1', '%201', '٣'])(
    '%s is not a job id',
    async (id) => {
      const answer = await world.api.call('GET', `/v1/jobs/${encodeURIComponent(decodeURIComponent(id))}`);
      expectRefusal(answer, 404, `Job with ID '${decodeURIComponent(id)}' not found.`, 'job_id');
    },
  );

  test.each(['HEAD', 'PUT', 'OPTIONS', 'TRACE', 'PATCH', 'DELETE', 'PROPFIND'])(
    'the method %s returns 404 where it does not exist',
    async (method) => {
      for (const path of ['/v1/providers', '/v1/telephone-encounters', '/link/token/create', '/healthz']) {
        const answer = await raw(world.sandbox.base_url, { method, path, headers: credentials() });
        expect(answer.status).toBe(404);
        expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/);
        if (method !== 'HEAD') expect(JSON.parse(answer.text).code).toBe('route_not_found');
      }
    },
  );

  test.each([
    '/V1/providers',
    '/v1//providers',
    '/v1/providers/',
    '/v1/./providers',
    '/v2/providers',
    '//',
    '/v1/providers;x=1',
  ])('%s is not an endpoint', async (path) => {
    const answer = await raw(world.sandbox.base_url, { method: 'GET', path, headers: credentials() });
    expect(answer.status).toBe(404);
  });
});
