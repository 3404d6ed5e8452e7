import { beforeAll, describe, expect, test } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { expectApiError } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const post = (path: string, body: unknown) => fixture.api.call('POST', path, { body });
const posts = ['/v1/telephone-encounters', '/v1/sync', '/v1/webhook', '/link/token/create'];

describe('a body', () => {
  test.each(['{', '{"a":1,}', "{'a':1}", 'undefined', '{"a":NaN}', '{} {}', '\u0000', '"', '[', 'nul', '{"a":"\t"}'])(
    'a body that is not JSON returns 400: %j',
    async (body) => {
      for (const path of posts) expectApiError(await post(path, body), 400, 'Request body is not valid JSON.');
    },
  );

  test.each(['[]', '[{"user_id":"u"}]', '"text"', '5', 'true', 'null'])(
    'a body that is JSON but not an object returns 400: %s',
    async (body) => {
      for (const path of posts) expectApiError(await post(path, body), 400, 'Request body must be a JSON object.');
    },
  );

  test('a body that is empty or missing counts as an empty object', async () => {
    for (const body of ['', '  \n ', undefined]) {
      expectApiError(await post('/v1/telephone-encounters', body), 400, 'Missing required field: patient_mrn');
      expectApiError(await post('/v1/webhook', body), 400, 'Missing required field: webhook_url', 'webhook_url');
    }
  });

  test('reports all unknown fields, in the order sent, before other field errors', async () => {
    const fields = { zebra: 1, apple: 2, caller: 5 };
    expectApiError(await fixture.api.callIn(fields), 400, 'Unexpected fields in request body: zebra, apple');
    const one = await fixture.api.callIn({ Reason: 'x' });
    expectApiError(one, 400, 'Unexpected fields in request body: Reason', 'Reason');
    expectApiError(await post('/v1/sync', { full: true }), 400, 'Unexpected fields in request body: full', 'full');
  });

  test('reports missing, then unknown, then invalid fields', async () => {
    const sent = { zebra: 1, provider_id: 5 };
    expectApiError(await post('/v1/telephone-encounters', sent), 400, 'Missing required field: patient_mrn');
    const nothing = { user_id: null, zebra: 1 };
    expectApiError(await post('/link/token/create', nothing), 400, 'Missing required field: user_id', 'user_id');
    expectApiError(
      await post('/link/token/create', { user_id: 'u', org_id: '' }),
      400,
      'Missing required field: org_id',
    );
  });

  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__'])(
    'rejects a field called %s without side effects',
    async (name) => {
      const { patient_mrn, provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
      const text = JSON.stringify({ patient_mrn, provider_id, location_id, assigned_to_id });
      const body = `${text.slice(0, -1)},"${name}":{"polluted":"yes"}}`;
      const response = await post('/v1/telephone-encounters', body);
      expectApiError(response, 400, `Unexpected fields in request body: ${name}`, name);
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    },
  );

  test('rejects credential names such as __proto__ like any unknown one', async () => {
    const created = await fixture.api.call('POST', '/link/token/create', {
      body: { user_id: 'proto', org_id: fixture.sandbox.org_id },
    });
    const body = `{"link_token":"${created.body.token}","credentials":{"__proto__":"x","constructor":"y"}}`;
    const rejected = await post('/sandbox/public_token/create', body);
    const names = 'credentials.__proto__, credentials.constructor';
    expectApiError(rejected, 400, `Unexpected fields in request body: ${names}`);
  });
});

describe('nothing is coerced', () => {
  test.each([
    ['caller', 5, 'caller must be a string'],
    ['caller', true, 'caller must be a string'],
    ['caller', {}, 'caller must be a string'],
    ['caller', ['a'], 'caller must be a string'],
    ['patient_mrn', 100001, 'patient_mrn must be a string'],
    ['is_high_priority', 'TRUE', 'is_high_priority must be one of: true, false'],
    ['is_high_priority', 1, 'is_high_priority must be one of: true, false'],
    ['message', false, 'message must be a string'],
  ])('telephone encounter, %s = %j', async (field, value, message) => {
    expectApiError(await fixture.api.callIn({ [field]: value }), 400, message, field);
  });

  test.each([
    [{ webhook_url: 5 }, 'webhook_url must be a string', 'webhook_url'],
    [
      { webhook_url: 'http://127.0.0.1/', event_types: 'sync.completed' },
      'event_types must be an array',
      'event_types',
    ],
    [{ webhook_url: 'http://127.0.0.1/', event_types: [] }, 'event_types must have at least 1 elements', 'event_types'],
    [{ webhook_url: 'http://127.0.0.1/', event_types: [5] }, /^event_types\[0\] must be one of: /, 'event_types[0]'],
  ])('webhook registration, %j', async (body, message, field) => {
    expectApiError(await post('/v1/webhook', body), 400, message, field);
  });
});

describe('a query', () => {
  test.each([
    '/v1/providers',
    '/v1/locations',
    '/v1/staff',
    '/v1/pharmacies',
    '/v1/webhook',
    '/link/emrs',
    '/v1/jobs/1',
  ])(
    'a query with an unknown parameter is rejected, so that a mistyped filter does not return everything: %s',
    async (path) => {
      expectApiError(
        await fixture.api.call('GET', `${path}?nmae=Jane`),
        400,
        'Unexpected query parameters: nmae',
        'nmae',
      );
    },
  );

  test.each(['last_nmae', 'LAST_NAME', '__proto__', 'constructor', 'toString', 'last_name[]', 'page.x'])(
    'rejects the unknown parameter %s for patients',
    async (name) => {
      const response = await fixture.api.call('GET', `/v1/patients?${encodeURIComponent(name)}=x`);
      expectApiError(response, 400, `Unexpected query parameters: ${name}`);
    },
  );

  test('reports all unknown parameters, in the order sent', async () => {
    const response = await fixture.api.call('GET', '/v1/patients?b=1&a=2&page=0&__proto__=3');
    expectApiError(response, 400, 'Unexpected query parameters: b, a, __proto__');
  });

  test('a query with an unknown parameter is rejected by write endpoints too', async () => {
    const response = await fixture.api.call('POST', '/v1/sync?x=1', { body: {} });
    expectApiError(response, 400, 'Unexpected query parameters: x');
  });

  test.each(['1.5', '1e1', '0x1', ' ', '', 'one', '9999999999999999', '+1', 'NaN'])(
    'rejects %j as a page number',
    async (page) => {
      const response = await fixture.api.call('GET', `/v1/patients?page=${encodeURIComponent(page)}`);
      expectApiError(response, 400, 'page must be an integer', 'page');
    },
  );

  test('accepts each parameter only once', async () => {
    for (const [query, field] of [
      ['mrn=a&mrn=b', 'mrn'],
      ['page=1&page=2', 'page'],
      ['last_name=a&last_name=a', 'last_name'],
    ] as const) {
      const response = await fixture.api.call('GET', `/v1/patients?${query}`);
      expectApiError(response, 400, new RegExp(`^${field} must be an? (string|integer)$`), field);
    }
  });

  test('a query with NUL in a value or name is rejected', async () => {
    const value = await fixture.api.call('GET', '/v1/patients?last_name=a%00b');
    expectApiError(value, 400, 'last_name contains a character that cannot be stored.', 'last_name');
    const name = await fixture.api.call('GET', '/v1/patients?a%00b=1');
    expect(name.status).toBe(400);
    expect(name.body).toMatchObject({ success: false, code: 'invalid_field' });
  });
});
