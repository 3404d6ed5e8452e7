import { beforeAll, describe, expect, test } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { expectAdvice, expectApiError, raw } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const mebibyte = 1_048_576;
const unstorable = 'contains a character that cannot be stored.';

function credentials(): Record<string, string> {
  const { client_id, client_secret, access_token } = fixture.sandbox;
  return { client_id, client_secret, access_token, 'content-type': 'application/json' };
}

function send(path: string, body: string | Buffer[], headers: Record<string, string> = {}) {
  const length = typeof body === 'string' ? { 'content-length': `${Buffer.byteLength(body)}` } : {};
  return raw(fixture.sandbox.base_url, {
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
    const rejected = await send('/v1/sync', padded(mebibyte + 1));
    expect([rejected.status, JSON.parse(rejected.text)]).toStrictEqual([
      413,
      {
        success: false,
        message: 'Request body exceeds 1 MB.',
        code: 'body_too_large',
        request_id: rejected.headers['x-request-id'],
        ...expectAdvice({ code: 'body_too_large' }),
      },
    ]);
  });

  test('is checked without Content-Length', async () => {
    const chunks = (text: string) => (text.match(/[\s\S]{1,65536}/g) ?? []).map((part) => Buffer.from(part));
    const read = await send('/v1/sync', chunks(padded(mebibyte)));
    expect([read.status, JSON.parse(read.text).code]).toStrictEqual([400, 'unexpected_fields']);
    const rejected = await send('/v1/sync', chunks(padded(mebibyte + 1)));
    expect([rejected.status, JSON.parse(rejected.text).code]).toStrictEqual([413, 'body_too_large']);
  });

  test('is measured in bytes, not characters', async () => {
    const rejected = await send('/v1/sync', `{"full":"${'€'.repeat(400_000)}"}`);
    expect(rejected.status).toBe(413);
  });

  test('is not checked for unauthenticated requests', async () => {
    const response = await send('/v1/sync', padded(mebibyte + 1), { client_secret: 'wrong' });
    expect([response.status, JSON.parse(response.text).code]).toStrictEqual([401, 'client_credentials_invalid']);
  });

  test.each([
    ['/link/v1/oauth/finish', '16 KB', 16_384],
    ['/dashboard/api/session', '16 KB', 16_384],
  ])('is at most 16 KB without authentication: %s', async (path, limit, bytes) => {
    const headers = { client_id: '', client_secret: '', access_token: '', origin: fixture.sandbox.base_url };
    const read = await send(path, padded(bytes), headers);
    expect([read.status, JSON.parse(read.text).code]).toStrictEqual([400, 'missing_field']);
    const rejected = await send(path, padded(bytes + 1), headers);
    expect([rejected.status, JSON.parse(rejected.text).message]).toStrictEqual([413, `Request body exceeds ${limit}.`]);
  });
});

describe('the structure of a body', () => {
  const nested = (depth: number) => `{"reason":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  const many = (values: number) => `{"reason":[${'1,'.repeat(values - 4)}1]}`;

  test.each(['/v1/telephone-encounters', '/link/token/create', '/link/v1/oauth/finish', '/dashboard/api/session'])(
    'is limited to 32 levels of nesting: %s',
    async (path) => {
      const allowed = await send(path, nested(32));
      expect([allowed.status, JSON.parse(allowed.text).code]).not.toContain('body_too_complex');
      const rejected = await send(path, nested(33));
      expect([rejected.status, JSON.parse(rejected.text)]).toMatchObject([
        400,
        { code: 'body_too_complex', message: 'Request body exceeds 32 levels of nesting.' },
      ]);
    },
  );

  test('is limited to 20,000 values', async () => {
    expect(JSON.parse((await send('/v1/telephone-encounters', many(20_000))).text).code).toBe('missing_field');
    const rejected = await send('/v1/telephone-encounters', many(20_001));
    expect(JSON.parse(rejected.text)).toMatchObject({
      code: 'body_too_complex',
      message: 'Request body exceeds 20000 values.',
    });
  });

  test('is only read as UTF-8', async () => {
    const text = Buffer.from('{"user_id":"\xff","org_id":"o"}', 'latin1');
    const rejected = await send('/link/token/create', [text]);
    expect([rejected.status, JSON.parse(rejected.text).code]).toStrictEqual([400, 'body_not_json']);
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
    const response = await send('/v1/sync', '{}', { 'content-type': type });
    expect([response.status, JSON.parse(response.text)]).toStrictEqual([
      415,
      {
        success: false,
        message: 'Content-Type must be application/json.',
        code: 'media_type_unsupported',
        request_id: response.headers['x-request-id'],
        ...expectAdvice({ code: 'media_type_unsupported' }),
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
    const response = await send('/v1/telephone-encounters', text);
    const { user, system } = process.cpuUsage(before);
    expect(response.status).toBe(400);
    expect(JSON.parse(response.text)).toMatchObject({ success: false, request_id: response.headers['x-request-id'] });
    // CPU time, not elapsed time, which depends on other load.
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  test('a list of event types of half a million elements', async () => {
    const body = `{"webhook_url":"http://127.0.0.1/","event_types":[${'"a",'.repeat(200_000)}"a"]}`;
    const response = await send('/v1/webhook', body);
    expect(response.status).toBe(400);
  });
});

describe('characters', () => {
  test.each([
    ['NUL', '\\u0000'],
    ['a lone high surrogate', '\\ud83d'],
    ['a lone low surrogate', '\\ude00'],
    ['surrogates in the wrong order', '\\ude00\\ud83d'],
  ])('characters that cannot be stored are rejected with the field name: %s', async (_case, written) => {
    const response = await fixture.api.call('POST', '/link/token/create', {
      body: `{"user_id":"a${written}b","org_id":"o"}`,
    });
    expectApiError(response, 400, `user_id ${unstorable}`, 'user_id');
    const nested = await fixture.api.call('POST', '/v1/webhook', {
      body: `{"webhook_url":"http://127.0.0.1/","event_types":["${written}"]}`,
    });
    expectApiError(nested, 400, `event_types ${unstorable}`, 'event_types');
    const name = await fixture.api.call('POST', '/v1/sync', { body: `{"${written}":1}` });
    expectApiError(name, 400, `A field name ${unstorable}`);
  });

  test('characters beyond ASCII are preserved', async () => {
    const org_id = 'Ωrg 🏥 \u{1F468}‍👩‍👧 é';
    const body = {
      user_id: 'usér-🙂',
      org_id,
      emr_name: 'larkspur',
      emr_instance_domain: fixture.sandbox.larkspur.url,
    };
    const created = await fixture.api.call('POST', '/link/token/create', { body });
    expect(created.status).toBe(200);
    const [row] = await fixture.owner`SELECT user_id FROM link_tokens WHERE org_id = ${org_id}`;
    expect(row?.user_id).toBe('usér-🙂');
  });

  test('an MRN and a name of 32,000 incompressible characters are accepted', async () => {
    const signs = Array.from({ length: 31_999 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000)));
    const long = `X${signs.join('')}`;
    const { status, body } = await fixture.api.callIn({ patient_mrn: long });
    expect(status, JSON.stringify(body)).toBe(200);
    expect((await fixture.api.untilEvent(body.job_id)).type).toBe('telephone_encounter.failed');
    const person = { first_name: long, last_name: long, dob: '1990-01-01', sex: 'female' };
    const created = await fixture.api.call('POST', '/v1/patients', { body: person });
    expect((await fixture.api.untilEvent(created.body.job_id)).type).toBe('patient.created');
  });

  test('40,000 exceed the default limit of 32,000', async () => {
    const rejected = await fixture.api.callIn({ message: 'x'.repeat(40_000) });
    expectApiError(rejected, 400, 'message exceeds maximum length of 32000 characters', 'message');
    const org_id = (length: number) => ({ user_id: 'u', org_id: 'o'.repeat(length), emr_name: 'no' });
    const over = await fixture.api.call('POST', '/link/token/create', { body: org_id(501) });
    expectApiError(over, 400, 'org_id exceeds maximum length of 500 characters', 'org_id');
    const at = await fixture.api.call('POST', '/link/token/create', { body: org_id(500) });
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
      const response = await raw(fixture.sandbox.base_url, { method, path, headers: credentials() });
      expect([400, 404], `${method} ${path}`).toContain(response.status);
      expect(JSON.parse(response.text)).toMatchObject({ success: false, request_id: response.headers['x-request-id'] });
    }
  });

  test.each(['x'.repeat(501), 'x'.repeat(10_000)])(
    'an id that is too long is rejected in the same format',
    async (id) => {
      const response = await raw(fixture.sandbox.base_url, {
        method: 'GET',
        path: `/v1/jobs/${id}`,
        headers: credentials(),
      });
      expect(response.status).toBe(400);
      expect(JSON.parse(response.text)).toMatchObject({ success: false, request_id: response.headers['x-request-id'] });
      expect(response.text.length).toBeLessThan(500);
    },
  );

  test.each(['9223372036854775808', '99999999999999999999', '-1', '1.0', '0x1', '1e3', ' 1', '%201', '٣'])(
    '%s is not a job id',
    async (id) => {
      const response = await fixture.api.call('GET', `/v1/jobs/${encodeURIComponent(decodeURIComponent(id))}`);
      expectApiError(response, 404, `Job with ID '${decodeURIComponent(id)}' not found.`, 'job_id');
    },
  );

  test.each(['PUT', 'TRACE', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY'])(
    'the method %s returns 405 where it does not exist',
    async (method) => {
      for (const path of ['/v1/providers', '/v1/telephone-encounters', '/link/token/create', '/healthz']) {
        const response = await raw(fixture.sandbox.base_url, { method, path, headers: credentials() });
        expect(response.status).toBe(405);
        expect(response.headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/);
        expect(JSON.parse(response.text).code).toBe('method_not_allowed');
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
    const response = await raw(fixture.sandbox.base_url, { method: 'GET', path, headers: credentials() });
    expect(response.status).toBe(404);
  });
});
