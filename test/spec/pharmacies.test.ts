import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
let answer: Answer;
let pharmacies: Answer['body'][];
beforeAll(async () => {
  world = await startSandbox();
  answer = await world.api.call('GET', '/v1/pharmacies');
  pharmacies = answer.body.pharmacies;
});
afterAll(() => world.close());

test('PHA-01 `id` is a string, a UUID without hyphens.', () => {
  for (const { id } of pharmacies) expect(id).toMatch(/^[0-9a-f]{32}$/);
});

test("PHA-02 `ehr_id` is a string, the pharmacy's id in the EMR.", async () => {
  const { body } = await world.api.control('GET', '/control/pharmacies');
  const known = body.rows.map(({ pharmacyId }: { pharmacyId: string }) => pharmacyId);
  expect(pharmacies.map(({ ehr_id }) => ehr_id).sort()).toStrictEqual(known.sort());
});

test('PHA-03 `name`, `phone`, `email` are strings.', () => {
  for (const { name, phone, email } of pharmacies) {
    expect([typeof name, typeof phone, typeof email]).toStrictEqual(['string', 'string', 'string']);
  }
});

test('PHA-04 `address` is an object with address1, city, state (abbreviation), zip.', () => {
  for (const { address } of pharmacies) {
    expect(address).toStrictEqual({
      address1: expect.any(String),
      city: expect.any(String),
      state: expect.stringMatching(/^[A-Z]{2}$/),
      zip: expect.stringMatching(/^\d{5}(-\d{4})?$/),
    });
  }
});

test('PHA-05 Pharmacy `status` is the string `active` or `inactive`.', () => {
  expect(new Set(pharmacies.map(({ status }) => status))).toStrictEqual(new Set(['active', 'inactive']));
});

test("PHA-06 `GET /v1/pharmacies` works without any parameter and lists the organization's pharmacies.", () => {
  expect(answer.status).toBe(200);
  expect(pharmacies.map(({ ehr_id }) => ehr_id)).toContain(world.sandbox.example.pharmacy_ehr_id);
});

test('PHA-07 `GET /v1/pharmacies` answers `{ success, pharmacies: [Pharmacy] }`.', () => {
  expect(answer.body).toStrictEqual({ success: true, pharmacies: expect.any(Array) });
});
