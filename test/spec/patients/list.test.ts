import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { isoDay } from '../support/emrRecords.ts';

type Body = ApiResponse['body'];

let fixture: TestSandbox;
/** All patients, in Larkspur and as the service lists them. */
let known: Body[];
let listed: Body[];
let response: ApiResponse;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  // One patient has every field, another next to none.
  await fixture.api.control('PATCH', '/control/patients/10001', { middleName: 'Q', address: { line2: 'Flat 2' } });
  await fixture.api.control('POST', '/control/patients', { firstName: 'Bare', lastName: 'Newcomer' });
  await fixture.api.sync();
  known = (await fixture.api.control('GET', '/control/patients')).body.rows;
  response = await fixture.api.call('GET', '/v1/patients?page_size=1000');
  listed = response.body.patients;
});
afterAll(() => fixture.close());

const search = (query: Record<string, string>) => fixture.api.call('GET', `/v1/patients?${new URLSearchParams(query)}`);
const sorted = (list: Body[]) => list.map(({ mrn }) => mrn).sort();
/** Checks that a query returns exactly the patients that match in Larkspur. */
async function expectFound(query: Record<string, string>, test: (each: Body) => boolean): Promise<void> {
  const { status, body } = await search({ ...query, page_size: '1000' });
  expect(status).toBe(200);
  expect(sorted(body.patients)).toStrictEqual(sorted(known.filter(test)));
  expect(body.patients.length).toBeGreaterThan(0);
  expect(body.patients.length).toBeLessThan(known.length);
}
const at = (mrn: string) => known.find((each) => each.mrn === mrn);
const orNull = (text: string | null) => text || null;

test(row('DEC-164'), async () => {
  const { birthDate } = at(fixture.sandbox.example.patient_mrn);
  await expectFound({ dob: isoDay(birthDate) }, (each) => each.birthDate === birthDate);
  expect((await search({ dob: '1801-01-01' })).body.patients).toStrictEqual([]);
});

test(row('DEC-165'), async () => {
  const { firstName, lastName } = at(fixture.sandbox.example.patient_mrn);
  for (const part of [firstName, firstName.toUpperCase(), firstName.toLowerCase(), firstName.slice(1, 3)]) {
    const has = (each: Body) => each.firstName.toLowerCase().includes(part.toLowerCase());
    await expectFound({ first_name: part }, has);
  }
  for (const part of [lastName, lastName.toUpperCase(), lastName.toLowerCase(), lastName.slice(1, 3)]) {
    const has = (each: Body) => each.lastName.toLowerCase().includes(part.toLowerCase());
    await expectFound({ last_name: part }, has);
  }
  const both = (each: Body) => each.firstName === firstName && each.lastName === lastName;
  await expectFound({ first_name: firstName.toUpperCase(), last_name: lastName.toLowerCase() }, both);
});

test(row('DEC-166'), async () => {
  await expectFound({ mrn: 'LK100007' }, (each) => each.mrn === 'LK100007');
  await expectFound({ ehr_id: '10009' }, (each) => each.patientId === '10009');
  const phone = known.find(({ homePhone }) => homePhone)?.homePhone;
  const cell = known.find(({ cellPhone }) => cellPhone)?.cellPhone;
  for (const number of [phone, cell]) {
    await expectFound({ phone: number }, (each) => each.homePhone === number || each.cellPhone === number);
    const digits = number?.replaceAll('-', '');
    for (const form of [digits, `+1 ${digits}`, `(${digits?.slice(0, 3)}) ${digits?.slice(3)}`]) {
      await expectFound({ phone: form }, (each) => each.homePhone === number || each.cellPhone === number);
    }
  }
  // Nothing of it is left to compare: it must not find everyone.
  expect((await search({ phone: '-' })).body.patients).toStrictEqual([]);
});

test(row('DEC-167'), async () => {
  const first = (await search({})).body;
  expect(first.pagination).toMatchObject({ page: 1, page_size: 100, total_count: 201, total_pages: 3 });
  expect((await search({ page: '1' })).body).toStrictEqual(first);
  const pages = await Promise.all(['1', '2', '3', '4'].map(async (page) => (await search({ page })).body.patients));
  expect(pages.map((page) => page.length)).toStrictEqual([100, 100, 1, 0]);
  expect(pages.flat()).toStrictEqual(listed);
  for (const page_size of ['1', '999', '1000']) {
    const { status, body } = await search({ page_size });
    expect([status, body.pagination.page_size]).toStrictEqual([200, Number(page_size)]);
    expect(body.patients).toHaveLength(Math.min(201, Number(page_size)));
  }
  expectApiError(await search({ page_size: '1001' }), 400, 'page_size must be at most 1000', 'page_size');
  expectApiError(await search({ page_size: '0' }), 400, 'page_size must be at least 1', 'page_size');
  expectApiError(await search({ page: '0' }), 400, 'page must be at least 1', 'page');
});

test(row('DEC-168'), async () => {
  const { status, body } = await search({ page: '2', page_size: '30' });
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, patients: expect.any(Array), pagination: expect.any(Object) });
  expect(body.pagination).toMatchObject({ current_page: 2, total_pages: 7, total_count: 201, page_size: 30 });
});

test(row('DEC-169'), () => {
  const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(listed).toHaveLength(201);
  for (const each of listed) {
    expect(each).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/), created_at: moment, updated_at: moment });
    expect([each.ehr_id, each.status]).toStrictEqual([at(each.mrn).patientId, 'active']);
  }
});

test(row('DEC-170'), () => {
  const sexes: Record<string, string> = { M: 'male', F: 'female', U: 'unknown' };
  for (const { mrn, first_name, middle_name, last_name, dob, sex } of listed) {
    const { firstName, middleName, lastName, birthDate, sexCode } = at(mrn);
    expect([first_name, middle_name, last_name]).toStrictEqual([firstName, orNull(middleName), lastName]);
    expect([dob, sex]).toStrictEqual([birthDate && isoDay(birthDate), sexes[sexCode]]);
  }
  expect(listed.find(({ mrn }) => mrn === 'LK100001').middle_name).toBe('Q');
  expect(listed.find(({ last_name }) => last_name === 'Newcomer').dob).toBe(null);
});

test(row('DEC-171'), () => {
  for (const each of listed) {
    const { homePhone, cellPhone, email, address } = at(each.mrn);
    expect(each).toMatchObject({ phone: orNull(homePhone), cell_phone: orNull(cellPhone), email: orNull(email) });
    expect(each).toMatchObject({
      address_street: orNull(address.line1),
      address_line2: orNull(address.line2),
      address_city: orNull(address.city),
      address_state: orNull(address.state),
      address_zip: orNull(address.zip),
    });
  }
  expect(listed.find(({ mrn }) => mrn === 'LK100001').address_line2).toBe('Flat 2');
});

test(row('DEC-172'), () => {
  for (const { mrn, insurance_name, insurance_subscriber_number } of listed) {
    const { primaryInsuranceName, primarySubscriberNumber } = at(mrn);
    expect(insurance_name).toBe(primaryInsuranceName);
    expect(insurance_subscriber_number).toBe(primarySubscriberNumber);
  }
  expect(listed.some(({ insurance_name }) => insurance_name === null)).toBe(true);
  expect(listed.some(({ insurance_name }) => insurance_name !== null)).toBe(true);
});
