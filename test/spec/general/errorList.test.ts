import { beforeAll, expect, test } from 'vitest';
import { type ErrorCode, errors } from '../../../src/catalog/errors.ts';
import { errorDocUrl, findRemedy } from '../../../src/catalog/remedies.ts';
import { expectAdvice, raw } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { no_credentials } from '../support/publishedOperations.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

test(row('ERL-01'), async () => {
  const { status, body } = await fixture.api.call('POST', '/v1/patients?color=red', {
    body: { first_name: ' ', dob: 'yesterday', sex: 'other', size: 4, phone: 5 },
  });
  expect(status).toBe(400);
  const listed = body.errors.map(({ field, code }: { field: string; code: string }) => [field, code]);
  expect(listed).toStrictEqual([
    ['color', 'unexpected_query'],
    ['first_name', 'missing_field'],
    ['last_name', 'missing_field'],
    ['size', 'unexpected_fields'],
    ['dob', 'invalid_field'],
    ['sex', 'invalid_field'],
    ['phone', 'invalid_field'],
  ]);
  expect(body).toMatchObject({
    message: 'Unexpected query parameters: color',
    code: 'unexpected_query',
    field: 'color',
  });
  expect(body.errors[0].message).toBe(body.message);
  expect(body.errors[1].message).toBe('Missing required field: first_name');
  expect(body.errors.at(-1).message).toBe('phone must be a string');
  // Several unknown fields share the message, as before; each has its own entry.
  const unknown = await fixture.api.callIn({ color: 1, size: 2 });
  expect(unknown.body).toMatchObject({ message: 'Unexpected fields in request body: color, size' });
  expect(unknown.body).not.toHaveProperty('field');
  expect(unknown.body.errors.map(({ message }: { message: string }) => message)).toStrictEqual([
    'Unexpected fields in request body: color',
    'Unexpected fields in request body: size',
  ]);
});

test(row('ERL-02'), async () => {
  const many = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`field_${n}`, n]));
  const { body } = await fixture.api.callIn(many);
  expect(body.errors).toHaveLength(100);
  const wrong = ['caller', 'message', 'reason', 'answered_by', 'notes', 'template_name', 'priority', 'location_id'];
  const invalid = await fixture.api.callIn(
    Object.fromEntries([...wrong, 'patient_mrn', 'provider_id'].map((name) => [name, 5])),
  );
  const fields = invalid.body.errors.map(({ field }: { field: string }) => field);
  expect(new Set(fields).size).toBe(fields.length);
  expect(fields.length).toBeGreaterThan(8);
  const unknown = await fixture.api.callIn({ provider_id: '599' });
  expect(unknown.body).toMatchObject({ code: 'provider_not_found', field: 'provider_id' });
  expect(unknown.body).not.toHaveProperty('errors');
});

test(row('ERL-03'), async () => {
  const { base_url } = fixture.sandbox;
  const responses = [
    await fixture.api.call('GET', '/v1/nowhere'),
    await fixture.api.call('GET', '/v1/patients', { headers: no_credentials }),
    await fixture.api.call('GET', '/v1/patients', { headers: { access_token: null } }),
    await fixture.api.call('GET', '/v1/patients?page=0'),
    await fixture.api.call('GET', `/v1/patients/${'0'.repeat(32)}`),
    await fixture.api.call('PATCH', '/v1/claims'),
  ];
  const parsed = await raw(base_url, { method: 'GET', path: '/healthz', headers: { filler: 'x'.repeat(40_000) } });
  for (const body of [...responses.map((response) => response.body), JSON.parse(parsed.text)]) {
    expect(body).toMatchObject({ success: false, ...expectAdvice(body) });
  }
  expect(responses[1]?.body.remedy).toMatch(/client_id and client_secret/);
  expect(responses[2]?.body.remedy).toMatch(/header access_token/);
});

test(row('ERL-04'), async () => {
  const { base_url } = fixture.sandbox;
  const page = await (await fetch(`${base_url}/docs/reference/errors`)).text();
  const ids = new Set([...page.matchAll(/<h3 id="([^"]+)"/g)].map(([, id]) => id));
  // Object.keys forgets the names.
  for (const code of Object.keys(errors) as ErrorCode[]) {
    expect(new URL(errorDocUrl(base_url, code)).pathname).toBe('/docs/reference/errors');
    expect(ids, code).toContain(new URL(errorDocUrl(base_url, code)).hash.slice(1));
    expect(findRemedy(code), code).toMatch(/^[A-Z].*\.$/);
  }
});
