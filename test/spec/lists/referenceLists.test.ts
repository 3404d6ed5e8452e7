import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { signInToLarkspur } from '../../journeys/support.ts';
import { addClinicRow, changeClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
/** A new patient as the service lists it before and after a sync. */
let newPerson: { before: Row[]; after: Row[] };
/** A referring provider with every field. */
let referring: Row;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const { mrn } = await addClinicRow(fixture, 'patients', { firstName: 'Nova', lastName: 'Newcomer' });
  const address = { line1: '9 Hill Road', line2: 'Suite 3', city: 'Exampleton', state: 'NY', zip: '10009' };
  await changeClinicRow(fixture, 'facilities', '13', { address, phone: '212-555-0130', fax: '212-555-0131' });
  referring = await addClinicRow(fixture, 'referring-providers', {
    firstName: 'Zadie',
    middleInitial: 'Q',
    lastName: 'Whollyknown',
    speciality: 'Cardiology',
    phone: '999-555-0100',
    fax: '999-555-0101',
    email: 'zadie@example.com',
    npi: '9999999901',
    address: { line1: '1 Heart Way', city: 'Exampleton', state: 'NY', zip: '10001' },
  });
  const twin = { firstName: 'Zadok', lastName: 'Whollyother', phone: '999-555-0102', fax: '999-555-0103' };
  await addClinicRow(fixture, 'referring-providers', { ...twin, npi: '9999999902' });
  await changeClinicRow(fixture, 'settings', 'requiredPatientFields', { value: ['email', 'homePhone'] });
  const listed = async () => (await get(`/v1/patients?mrn=${mrn}`)).body.patients;
  const before = await listed();
  await fixture.api.sync();
  newPerson = { before, after: await listed() };
});
afterAll(() => fixture.close());

const get = (path: string) => fixture.api.call('GET', path);
/** Reads a list by its path. */
const list = async (path: string, name: string): Promise<Row[]> => {
  const { status, body } = await get(`/v1/${path}`);
  expect(status).toBe(200);
  return body[name];
};
const patchLocation = (id: string, body: unknown) => fixture.api.call('PATCH', `/v1/locations/${id}`, { body });
const id_form = /^[0-9a-f]{32}$/;

test(row('REF-01'), async () => {
  const known = (await clinicRows(fixture, 'patients')).map(({ mrn }) => mrn);
  const listed = (await get('/v1/patients?page_size=1000')).body.patients.map(({ mrn }: Row) => mrn);
  expect(listed.sort()).toStrictEqual(known.sort());
  // Records added since the last sync are not listed yet.
  expect(newPerson.before).toStrictEqual([]);
  expect(newPerson.after).toMatchObject([{ first_name: 'Nova', last_name: 'Newcomer' }]);
});

test(row('REF-02'), async () => {
  const locations = await list('locations', 'locations');
  const known = (await clinicRows(fixture, 'facilities')).map(({ facilityId }) => facilityId);
  expect(locations.map(({ ehr_id }) => ehr_id).sort()).toStrictEqual(known.sort());
  const chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  for (const { ehr_id, id } of locations) {
    const { body } = await fixture.api.callIn({ location_id: ehr_id });
    const event = await fixture.api.untilEvent(body.job_id);
    expect(event.event_type).toBe('telephone_encounter.created');
    expect((await chart.encounter(event.data.emr_encounter_id)).facilityId).toBe(ehr_id);
    const by_id = await fixture.api.callIn({ location_id: id });
    expectApiError(by_id, 404, `Location with EMR ID '${id}' not found.`, 'location_id');
  }
});

test(row('DEC-199'), async () => {
  const rows = await clinicRows(fixture, 'facilities');
  const locations = await list('locations', 'locations');
  expect(locations).toHaveLength(rows.length);
  for (const location of locations) {
    const row = rows.find(({ facilityId }) => facilityId === location.ehr_id);
    const { line1, line2, city, state, zip } = row.address;
    expect(location).toStrictEqual({
      id: expect.stringMatching(id_form),
      ehr_id: row.facilityId,
      name: row.name,
      status: expect.stringMatching(/^(in)?active$/),
      phone: row.phone,
      fax: row.fax,
      address: { address1: line1, address2: line2, city, state, zip },
    });
  }
  const full = locations.find(({ ehr_id }) => ehr_id === '13');
  expect(full).toMatchObject({ fax: '212-555-0131', address: { address2: 'Suite 3' } });
});

test(row('DEC-200'), async () => {
  const [{ id }] = (await list('locations', 'locations')) as [Row];
  const readStatus = async () => (await list('locations', 'locations')).find((each) => each.id === id).status;
  for (const status of ['inactive', 'ACTIVE', 'Inactive', 'aCTIVE']) {
    expect((await patchLocation(id, { status })).status).toBe(200);
    expect(await readStatus()).toBe(status.toLowerCase());
  }
  for (const status of ['shut', 'act ive', 'true', 1]) {
    expectApiError(await patchLocation(id, { status }), 400, /^status must be/, 'status');
  }
  expect(await readStatus()).toBe('active');
});

test(row('DEC-201'), async () => {
  const [{ id }] = (await list('locations', 'locations')) as [Row];
  const { status, body } = await patchLocation(id, { status: 'active' });
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, message: expect.any(String), location_id: id });
});

test(row('DEC-202'), async () => {
  for (const [name, kind] of [
    ['locations', 'facilities'],
    ['staff', 'staff'],
  ] as const) {
    const { body } = await get(`/v1/${name}`);
    expect(body).toMatchObject({ success: true, [name]: expect.any(Array) });
    expect(body[name]).toHaveLength((await clinicRows(fixture, kind)).length);
  }
});

test(row('DEC-203'), async () => {
  for (const [path, name, kind] of [
    ['insurance-providers', 'insurance_providers', 'insurance-companies'],
    ['referring-providers', 'referring_providers', 'referring-providers'],
  ] as const) {
    const { body } = await get(`/v1/${path}`);
    expect(body).toMatchObject({ success: true, [name]: expect.any(Array) });
    expect(body[name]).toHaveLength((await clinicRows(fixture, kind)).length);
  }
});

test(row('DEC-204'), async () => {
  for (const [path, name] of [
    ['visit-types', 'visit_types'],
    ['visit-statuses', 'visit_statuses'],
  ] as const) {
    const { body } = await get(`/v1/${path}`);
    expect(body).toMatchObject({ success: true, [name]: expect.any(Array) });
    expect(body[name]).toHaveLength((await clinicRows(fixture, path)).length);
  }
});

test(row('DEC-217'), async () => {
  const rows = await clinicRows(fixture, 'staff');
  const staff = await list('staff', 'staff');
  expect(staff).toHaveLength(rows.length);
  for (const member of staff) {
    const row = rows.find(({ staffId }) => staffId === member.ehr_id);
    expect(member).toStrictEqual({
      id: expect.stringMatching(id_form),
      ehr_id: row.staffId,
      name: row.displayName,
      role: row.role,
      status: row.activeFlag === 'Y' ? 'active' : 'inactive',
    });
  }
  expect(new Set(staff.map(({ status }) => status))).toStrictEqual(new Set(['active', 'inactive']));
});

/** Codes and descriptions, sorted by code. */
const codes = (rows: Row[]) =>
  rows.map(({ code, description }) => ({ code, description })).sort((a, b) => (a.code < b.code ? -1 : 1));
const byCode = (a: Row, b: Row) => (a.code < b.code ? -1 : 1);

test(row('DEC-218'), async () => {
  const listed = await list('visit-types', 'visit_types');
  expect(listed.sort(byCode)).toStrictEqual(codes(await clinicRows(fixture, 'visit-types')));
});

test(row('DEC-219'), async () => {
  const listed = await list('visit-statuses', 'visit_statuses');
  expect(listed.sort(byCode)).toStrictEqual(codes(await clinicRows(fixture, 'visit-statuses')));
});

const findNames = async (query: Record<string, string>) =>
  (await list(`referring-providers?${new URLSearchParams(query)}`, 'referring_providers')).map(({ name }) => name);
const [zadie, zadok] = ['Zadie Q Whollyknown', 'Zadok Whollyother'];

test(row('DEC-220'), async () => {
  expect(await findNames({ last_name: 'Wholly' })).toStrictEqual([zadie, zadok]);
  expect(await findNames({ last_name: 'llyKNOWN' })).toStrictEqual([zadie]);
  expect(await findNames({ first_name: 'zad' })).toStrictEqual([zadie, zadok]);
  expect(await findNames({ first_name: 'dok' })).toStrictEqual([zadok]);
  expect(await findNames({ first_name: 'Zadok', last_name: 'Whollyknown' })).toStrictEqual([]);
});

test(row('DEC-221'), async () => {
  expect(await findNames({ phone: '999-555-0100' })).toStrictEqual([zadie]);
  expect(await findNames({ fax: '999-555-0103' })).toStrictEqual([zadok]);
  expect(await findNames({ npi: '9999999901' })).toStrictEqual([zadie]);
  const parts: Record<string, string>[] = [{ phone: '999-555-010' }, { fax: '555-0103' }, { npi: '999999990' }];
  for (const query of [...parts, { phone: '999-555-0101' }]) expect(await findNames(query)).toStrictEqual([]);
});

const completeProvider = async () => (await list('referring-providers?npi=9999999901', 'referring_providers'))[0];

test(row('DEC-222'), async () => {
  expect(await completeProvider()).toMatchObject({
    id: expect.stringMatching(id_form),
    ehr_id: referring.referringId,
    name: zadie,
    first_name: 'Zadie',
    last_name: 'Whollyknown',
    middle_initial: 'Q',
    speciality: 'Cardiology',
    status: 'active',
  });
});

test(row('DEC-223'), async () => {
  expect(await completeProvider()).toMatchObject({
    phone: '999-555-0100',
    fax: '999-555-0101',
    email: 'zadie@example.com',
    npi: '9999999901',
    address_street: '1 Heart Way',
    address_city: 'Exampleton',
    address_state: 'NY',
    address_zip: '10001',
  });
});

test(row('DEC-224'), async () => {
  const { status, body } = await get('/v1/settings');
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, data: expect.any(Object) });
  const { data } = body;
  expect(data).toMatchObject({
    access_token_reference_id: fixture.sandbox.access_token_reference_id,
    required_patient_fields: ['first_name', 'last_name', 'dob', 'sex', 'email', 'phone'],
    timezone: (await fixture.api.control('GET', '/api/practice')).body.timeZone,
  });
  expect(data.visit_types.sort(byCode)).toStrictEqual(codes(await clinicRows(fixture, 'visit-types')));
  expect(data.visit_statuses.sort(byCode)).toStrictEqual(codes(await clinicRows(fixture, 'visit-statuses')));
});
