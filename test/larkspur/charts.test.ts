import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Clinic, ENCOUNTERS, encounterBody, openClinic, type Row } from './fixture.ts';

let clinic: Clinic;
let token: string;
const get = (path: string) => clinic.api('GET', path, undefined, token);
const post = (path: string, body: object) => clinic.api('POST', path, body, token);

beforeAll(async () => {
  clinic = await openClinic();
  token = (await clinic.signIn()).sessionToken;
});
afterAll(() => clinic.close());

test('lists return the documented fields, ordered by id, with paging', async () => {
  const providers = (await get('/api/providers?page=2&pageSize=3')).body;
  expect(providers).toMatchObject({ total: 8, page: 2, pageSize: 3 });
  expect(providers.rows.map((row) => row.providerId)).toEqual(['504', '505', '506']);
  expect(Object.keys(providers.rows[0] ?? {})).toEqual(
    'providerId firstName lastName displayName npi speciality timeZone activeFlag weeklyHours'.split(' '),
  );
  expect(providers.rows[0]?.weeklyHours[0]).toMatchObject({
    dayName: 'Monday',
    shifts: [{ startTime: '09:00', endTime: '12:00', facilityId: '11', effectiveTo: null, recurrence: null }, {}],
  });
  expect(Object.keys((await get('/api/staff')).body.rows[0] ?? {})).toEqual([
    'staffId',
    'displayName',
    'role',
    'activeFlag',
  ]);
  expect((await get('/api/facilities')).body.rows).toHaveLength(3);
  expect((await get('/api/pharmacies')).body.rows[14]).toMatchObject({ pharmacyId: '9015', activeFlag: 'N' });
  const patients = (await get('/api/patients?pageSize=9999')).body;
  expect(patients).toMatchObject({ total: 200, pageSize: 500 });
  expect(patients.rows[0]).toMatchObject({
    patientId: '10001',
    mrn: 'LK100001',
    birthDate: expect.stringMatching(/^\d\d\/\d\d\/\d{4}$/),
    cellPhone: expect.stringMatching(/^\d{3}-555-01\d\d$/),
    address: { line1: expect.any(String), line2: null, city: 'Exampleton', state: 'NY', zip: '12999' },
  });
  expect((await get('/api/patients?page=0')).body.errorCode).toBe('BAD_REQUEST');
});

test('finds patients by MRN, name prefix, birth date and phone digits', async () => {
  const ada = (await get('/api/patients')).body.rows[0] as Row;
  const [birthDate, digits] = [ada.birthDate, ada.cellPhone.replaceAll('-', '')];
  for (const search of [
    'mrn=LK100001',
    `lastName=testp&firstName=ADA&birthDate=${birthDate}`,
    `phone=${digits}&lastName=Testpatient`,
  ]) {
    expect((await get(`/api/patients?${search}`)).body.rows).toEqual([ada]);
  }
  expect((await get('/api/patients?mrn=LK999999')).body).toMatchObject({ total: 0, rows: [] });
  expect((await get('/api/patients?birthDate=02/31/2000')).body.errorCode).toBe('BAD_REQUEST');
  expect(await get('/api/patients/nobody')).toMatchObject({ status: 404, body: { errorCode: 'NOT_FOUND' } });
});

test('a telephone encounter is read back with its refill, pharmacy and action, and has a receipt', async () => {
  const fields = {
    reason: 'Refill',
    caller: 'Beth',
    message: 'Out on Friday',
    pharmacyId: '9002',
    templateName: 'Triage',
  };
  const created = await post(ENCOUNTERS, encounterBody('whole', { ...fields, priority: 'H' }));
  expect(created).toMatchObject({ status: 201, body: { recordId: expect.any(String), corrections: [] } });
  expect(created.body.changes).toContainEqual({
    record: 'telephone encounter',
    field: 'caller',
    label: 'Caller',
    before: null,
    after: 'Beth',
  });
  const encounter = `/api/telephone-encounters/${created.body.recordId}`;
  const [lisinopril] = (await get('/api/patients/10001/medications')).body.rows;
  expect(lisinopril).toMatchObject({ name: 'Lisinopril 10 mg', activeFlag: 'Y', refills: expect.any(String) });
  const refill = { externalRef: 'whole', medicationId: lisinopril?.medicationId, pharmacyId: '9002' };
  expect((await post(`${encounter}/refills`, refill)).status).toBe(201);
  expect((await post(`${encounter}/actions`, { externalRef: 'whole', text: 'Called back.' })).status).toBe(201);
  expect((await get(encounter)).body).toEqual({
    encounterId: created.body.recordId,
    patientId: '10001',
    mrn: 'LK100001',
    providerId: '501',
    facilityId: '11',
    assignedTo: '703',
    ...fields,
    priority: 'H',
    createdAt: clinic.clock.at.toISOString(),
    createdBy: 'Avery Deskwell',
    refills: [{ medicationId: lisinopril?.medicationId, medicationName: 'Lisinopril 10 mg', pharmacyId: '9002' }],
    actions: [{ at: clinic.clock.at.toISOString(), by: 'Avery Deskwell', text: 'Called back.' }],
  });
  expect((await get('/api/receipts/create_telephone_encounter/whole')).body).toEqual({
    operation: 'create_telephone_encounter',
    externalRef: 'whole',
    recordId: created.body.recordId,
    receivedAt: clinic.clock.at.toISOString(),
    corrections: created.body.corrections,
    changes: created.body.changes,
  });
  expect((await get('/api/receipts/add_refill/never')).body.errorCode).toBe('NOT_FOUND');
});

test('adding a pharmacy twice keeps one entry, and only one pharmacy is primary', async () => {
  const add = (externalRef: string, fields: object) =>
    post('/api/patients/10001/pharmacies', { externalRef, ...fields });
  const first = await add('ph1', { pharmacyId: '9005', primaryFlag: 'Y' });
  const again = await add('ph2', { pharmacyId: '9005' });
  expect(again.body.recordId).toBe(first.body.recordId);
  const { rows } = (await get('/api/patients/10001/pharmacies')).body;
  expect(rows.map((row) => [row.pharmacyId, row.primaryFlag])).toEqual([
    ['9005', 'Y'],
    ['9001', 'N'],
  ]);
  expect(rows[0]).toMatchObject({
    name: 'Hilltop Demo Pharmacy',
    address: { city: 'Exampleton' },
    phone: '518-555-0144',
  });
});

test('returns 404 naming an unknown record, 422 if not allowed, 400 if malformed', async () => {
  const encounter = '/api/telephone-encounters/30001';
  const [, , stopped] = (await get('/api/patients/10001/medications')).body.rows;
  const cases: [path: string, body: object, status: number, text: string][] = [
    ['/api/patients/x/telephone-encounters', encounterBody('u1'), 404, "No patient with id 'x'."],
    [ENCOUNTERS, encounterBody('u2', { providerId: 'x' }), 404, "No provider with id 'x'."],
    [ENCOUNTERS, encounterBody('u3', { facilityId: 'x' }), 404, "No facility with id 'x'."],
    [ENCOUNTERS, encounterBody('u4', { assignedTo: 'x' }), 404, "No staff member with id 'x'."],
    [ENCOUNTERS, encounterBody('u5', { pharmacyId: 'x' }), 404, "No pharmacy with id 'x'."],
    [
      '/api/telephone-encounters/x/actions',
      { externalRef: 'u6', text: 'x' },
      404,
      "No telephone encounter with id 'x'.",
    ],
    [ENCOUNTERS, encounterBody('u7', { assignedTo: '712' }), 422, "The staff member with id '712' is inactive."],
    [
      `${encounter}/refills`,
      { externalRef: 'u8', medicationId: 'x' },
      422,
      "Medication 'x' is not on the patient's list.",
    ],
    [
      `${encounter}/refills`,
      { externalRef: 'u9', medicationId: stopped?.medicationId },
      422,
      `Medication '${stopped?.medicationId}' is no longer active.`,
    ],
    [
      ENCOUNTERS,
      encounterBody('u10', { priority: 'X' }),
      400,
      'body/priority must be equal to one of the allowed values',
    ],
    [ENCOUNTERS, encounterBody('', {}), 400, 'body/externalRef must NOT have fewer than 1 characters'],
    [ENCOUNTERS, encounterBody('u12', { message: 'a\u0000b' }), 400, 'Text must not contain the NUL character.'],
    [ENCOUNTERS, encounterBody('u11', { surprise: 1 }), 400, 'body must NOT have additional properties'],
  ];
  for (const [path, body, status, errorText] of cases) {
    const unprocessable = /^Medication/.test(errorText) ? 'MEDICATION_NOT_FOUND' : 'INACTIVE_RECORD';
    const errorCode = { 400: 'BAD_REQUEST', 404: 'NOT_FOUND', 422: unprocessable }[status];
    expect(await post(path, body), errorText).toMatchObject({ status, body: { errorCode, errorText } });
  }
  const broken = await fetch(clinic.larkspur.url + ENCOUNTERS, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"externalRef":',
  });
  expect(broken.status).toBe(400);
  expect(await broken.json()).toMatchObject({ errorCode: 'BAD_REQUEST' });
});

test('one of twenty concurrent writes with one reference is applied, and the others return its record id', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => post(ENCOUNTERS, encounterBody('twenty'))));
  const [winner, ...more] = responses.filter((response) => response.status === 201);
  expect(more).toEqual([]);
  const duplicates = responses.filter((response) => response.status === 409);
  expect(duplicates).toHaveLength(19);
  for (const { body } of duplicates) {
    expect(body).toMatchObject({ errorCode: 'DUPLICATE_REFERENCE', recordId: winner?.body.recordId });
  }
  const { entries } = (await clinic.control('GET', '/control/ledger')).body;
  const twenty = entries.filter((entry) => entry.marker === 'twenty');
  expect(twenty).toHaveLength(20);
  expect(twenty.filter((entry) => entry.applied)).toHaveLength(1);
});

test('a reference can be reused after a failed write and for another operation', async () => {
  expect((await post(ENCOUNTERS, encounterBody('again', { providerId: 'x' }))).status).toBe(404);
  expect((await get('/api/receipts/create_telephone_encounter/again')).status).toBe(404);
  const created = await post(ENCOUNTERS, encounterBody('again'));
  expect(created.status).toBe(201);
  const action = { externalRef: 'again', text: 'Same reference, other operation' };
  expect((await post(`/api/telephone-encounters/${created.body.recordId}/actions`, action)).status).toBe(201);
});

test('a receipt returns a reference of 100 special characters unchanged', async () => {
  const externalRef = `a/b?c#d%e ü${'x'.repeat(89)}`;
  expect((await post(ENCOUNTERS, encounterBody(externalRef))).status).toBe(201);
  const receipt = await get(`/api/receipts/create_telephone_encounter/${encodeURIComponent(externalRef)}`);
  expect(receipt.body.externalRef).toBe(externalRef);
});
