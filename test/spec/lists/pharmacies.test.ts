import { beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
let response: ApiResponse;
let pharmacies: ApiResponse['body'][];
beforeAll(async () => {
  fixture = await sharedSandbox();
  response = await fixture.api.call('GET', '/v1/pharmacies');
  pharmacies = response.body.pharmacies;
});

test(row('PHA-01'), () => {
  for (const { id } of pharmacies) expect(id).toMatch(/^[0-9a-f]{32}$/);
});

test(row('PHA-02'), async () => {
  const { body } = await fixture.api.control('GET', '/control/pharmacies');
  const known = body.rows.map(({ pharmacyId }: { pharmacyId: string }) => pharmacyId);
  expect(pharmacies.map(({ ehr_id }) => ehr_id).sort()).toStrictEqual(known.sort());
});

test(row('PHA-03'), () => {
  for (const { name, phone, email } of pharmacies) {
    expect([typeof name, typeof phone, typeof email]).toStrictEqual(['string', 'string', 'string']);
  }
});

test(row('PHA-04'), () => {
  for (const { address } of pharmacies) {
    expect(address).toStrictEqual({
      address1: expect.any(String),
      city: expect.any(String),
      state: expect.stringMatching(/^[A-Z]{2}$/),
      zip: expect.stringMatching(/^\d{5}(-\d{4})?$/),
    });
  }
});

test(row('PHA-05'), () => {
  expect(new Set(pharmacies.map(({ status }) => status))).toStrictEqual(new Set(['active', 'inactive']));
});

test(row('PHA-06'), () => {
  expect(response.status).toBe(200);
  expect(pharmacies.map(({ ehr_id }) => ehr_id)).toContain(fixture.sandbox.example.pharmacy_ehr_id);
});

test(row('PHA-07'), () => {
  expect(response.body).toStrictEqual({ success: true, pharmacies: expect.any(Array) });
});
