import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Clinic, openClinic } from './fixture.ts';

let clinic: Clinic;
let token: string;
const get = async (path: string) => (await clinic.api('GET', path, undefined, token)).body;
const post = (path: string, body: object) => clinic.api('POST', path, body, token);
const newPatient = (externalRef: string, fields: object = {}) => ({
  externalRef,
  firstName: 'Nova',
  lastName: `Fresh${externalRef}`,
  birthDate: '02/29/2004',
  sexCode: 'F',
  ...fields,
});

beforeAll(async () => {
  clinic = await openClinic();
  token = (await clinic.signIn()).sessionToken;
});
afterAll(() => clinic.close());

test('creates a patient with guarantor, insurances, pharmacies and eligibility check in one write', async () => {
  const created = await post(
    '/api/patients',
    newPatient('all', {
      middleName: 'Q',
      homePhone: '518-555-0101',
      noEmailReason: 'Has none',
      address: { line1: '1 New Street', city: 'Exampleton', state: 'NY', zip: '12999' },
      language: 'spanish',
      race: 'A',
      ethnicity: 'Hispanic or Latino',
      rxConsentFlag: 'N',
      referringId: '8002',
      pcpId: '503',
      renderingProviderId: '504',
      defaultFacilityId: '12',
      emergencyContact: { firstName: 'Em', phone: '518-555-0102' },
      responsiblePartyCode: '18',
      responsibleParty: { firstName: 'Pat', lastName: 'Fresh', sexCode: 'M', birthDate: '01/31/1970' },
      insurances: [
        { companyId: '306', subscriberNumber: 'S1', relationshipCode: '19', copayment: '25' },
        { companyName: 'Nowhere Health', subscriberNumber: 'S2', priority: 2 },
      ],
      checkEligibility: 'Y',
      pharmacyIds: ['9002', '9003'],
    }),
  );
  expect(created).toMatchObject({ status: 201, body: { recordId: '10201', mrn: 'LK100201', corrections: [] } });
  expect(await get('/api/patients/10201')).toMatchObject({
    mrn: 'LK100201',
    address: { line1: '1 New Street', line2: null },
    primaryInsuranceName: 'Mock Mutual',
    primarySubscriberNumber: 'S1',
    languageCode: 'SPA',
    languageName: 'Spanish',
    raceName: 'Asian',
    ethnicityCode: 'H',
    selfPayFlag: 'N',
    releaseOfInfoFlag: 'Y',
    rxConsentFlag: 'N',
    referringLastName: 'Outsidely',
    pcpId: '503',
    pcpLastName: 'Placeholt',
    renderingProviderId: '504',
    defaultFacilityId: '12',
    emergencyContact: { firstName: 'Em', lastName: null, relation: null, phone: '518-555-0102' },
    responsiblePartyCode: '18',
    addressHistory: [],
    eligibilityChecks: [{ companyName: 'Mock Mutual', statusCode: 'REQ', requestedBy: 'Avery Deskwell' }],
  });
  const [guarantor] = (await get('/api/patients/10201/guarantors')).rows;
  expect(guarantor).toMatchObject({ firstName: 'Pat', relationshipCode: '18', guarantorIsPatient: 'N', sexCode: 'M' });
  expect((await get('/api/patients/10201')).responsibleGuarantorId).toBe(guarantor?.guarantorId);
  const { guarantorId } = guarantor ?? {};
  expect((await get('/api/patients/10201/insurances')).rows).toMatchObject([
    { priority: 1, companyId: '306', payerId: 'MOC02', copayment: '25.00', planBegins: '03/10/2026', guarantorId },
    { priority: 2, companyId: null, companyName: 'Nowhere Health', payerId: null, relationshipCode: null },
  ]);
  expect((await get('/api/patients/10201/pharmacies')).rows.map((row) => [row.pharmacyId, row.primaryFlag])).toEqual([
    ['9002', 'Y'],
    ['9003', 'N'],
  ]);
  const { entries } = (await clinic.control('GET', '/control/ledger')).body;
  expect(entries.at(-1)).toMatchObject({ marker: 'all', patient_mrn: 'LK100201', applied: true });
  expect(await get('/api/patients/10201/balances')).toEqual({ patientBalance: '0.00', accountBalance: '0.00' });
});

test('sets defaults for a patient with only the required fields; selfPayFlag is Y without insurance', async () => {
  const { recordId } = (await post('/api/patients', newPatient('least'))).body;
  expect(await get(`/api/patients/${recordId}`)).toMatchObject({
    selfPayFlag: 'Y',
    releaseOfInfoFlag: 'Y',
    rxConsentFlag: 'Y',
    responsiblePartyCode: '1',
    responsibleGuarantorId: null,
    primaryInsuranceName: null,
  });
  const insured = { insurances: [{ companyName: 'mock mutual', subscriberNumber: 'S' }], selfPayFlag: 'Y' };
  const other = (await post('/api/patients', newPatient('insured', insured))).body.recordId;
  expect(await get(`/api/patients/${other}`)).toMatchObject({ selfPayFlag: 'Y', primaryInsuranceName: 'Mock Mutual' });
});

test('rejects a duplicate patient, ignoring case, accents, apostrophes, hyphens and surplus blanks, and a search finds the same patient', async () => {
  const person = { firstName: 'Zoë', lastName: "O'Van  Dupe", birthDate: '05/05/1990', sexCode: 'F' };
  const { mrn } = (await post('/api/patients', { externalRef: 'dup1', ...person })).body;
  const same = { ...person, externalRef: 'dup2', firstName: 'ZOE', lastName: 'o\u2019van-dupe' };
  expect(await post('/api/patients', same)).toMatchObject({
    status: 409,
    body: { errorCode: 'DUPLICATE_PATIENT', mrn },
  });
  for (const lastName of ['o\u2019van dupe', ' OVAN  dupe', "o'van", 'o\u2019vän-dupe', 'ova\u0308n dupe']) {
    const response = await get(`/api/patients?${new URLSearchParams({ firstName: 'zoe\u0308 ', lastName })}`);
    expect(response.rows, lastName).toMatchObject([{ mrn }]);
  }
  for (const lastName of ['ovandupe', 'dupe', '\u0308']) {
    expect((await get(`/api/patients?${new URLSearchParams({ lastName })}`)).total, lastName).toBe(0);
  }
  const twin = { ...same, externalRef: 'dup3', sexCode: 'M' };
  expect((await post('/api/patients', twin)).status).toBe(201);
});

test('exactly one of ten concurrent requests for one new patient creates the chart', async () => {
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, n) => post('/api/patients', { ...newPatient('race'), externalRef: `race${n}` })),
  );
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(responses.filter(({ body }) => body.errorCode === 'DUPLICATE_PATIENT')).toHaveLength(9);
});

test('rejects invalid values with the accepted ones, and creates nothing', async () => {
  const { total } = await get('/api/patients');
  const cases: [fields: object, status: number, text: RegExp][] = [
    [{ language: 'Klingon' }, 422, /Unknown language 'Klingon'\. Accepted: .*English/],
    [{ race: 'x' }, 422, /Unknown race/],
    [{ ethnicity: 'x' }, 422, /Unknown ethnicity/],
    [{ responsiblePartyCode: '2' }, 422, /needs a name/],
    [{ referringId: '8012' }, 404, /No referring provider with id '8012'/],
    [{ referringFirstName: 'Sasha' }, 422, /must be sent together/],
    [{ pharmacyIds: ['9015'] }, 422, /inactive/],
    [{ insurances: [{ subscriberNumber: 'S' }] }, 422, /companyId or a companyName/],
    [{ insurances: [{ companyId: '318', subscriberNumber: 'S' }] }, 422, /inactive/],
    [{ birthDate: '02/30/2004' }, 400, /Invalid date/],
    [{ responsiblePartyCode: '20' }, 400, /responsiblePartyCode/],
  ];
  for (const [fields, status, errorText] of cases) {
    const response = await post('/api/patients', newPatient('bad', fields));
    expect(response, String(errorText)).toMatchObject({
      status,
      body: { errorText: expect.stringMatching(errorText) },
    });
  }
  expect((await get('/api/patients')).total).toBe(total);
});

test('requires the fields set by the practice; noEmailReason replaces the email', async () => {
  await clinic.control('PATCH', '/control/settings/requiredPatientFields', { value: ['email', 'cellPhone'] });
  expect(await get('/api/code-lists')).toMatchObject({ requiredPatientFields: ['email', 'cellPhone'] });
  const refused = await post('/api/patients', newPatient('must'));
  expect(refused).toMatchObject({ status: 422, body: { errorCode: 'RULE_BROKEN', missing: ['email', 'cellPhone'] } });
  const enough = { noEmailReason: 'None', cellPhone: '518-555-0103' };
  expect((await post('/api/patients', newPatient('must', enough))).status).toBe(201);
  await clinic.control('PATCH', '/control/settings/requiredPatientFields', { value: [] });
});

test('an update changes only the fields sent, reports old values and stores the previous address', async () => {
  const path = '/api/patients/10007/demographics';
  const before = await get('/api/patients/10007');
  const sent = { cellPhone: '518-555-0190', address: { line1: '5 Moved Road', line2: 'Apt 9' } };
  const { body } = await post(path, { externalRef: 'u1', ...sent });
  expect(body.recordId).toBe('10007');
  expect(body.changes.find((change) => change.field === 'address.line1')).toEqual({
    record: 'patient',
    field: 'address.line1',
    label: 'Address line 1',
    before: (before.address as { line1: string }).line1,
    after: '5 Moved Road',
  });
  const after = await get('/api/patients/10007');
  expect(after).toMatchObject({ cellPhone: '518-555-0190', address: { ...before.address, ...sent.address } });
  expect(after.addressHistory).toHaveLength(before.addressHistory.length + 1);
  expect(after.addressHistory[0]?.address).toEqual(before.address);
  await post(path, { externalRef: 'u2', address: { line1: '6 Moved Road' }, keepAddressHistory: 'N' });
  await post(path, { externalRef: 'u3', email: null });
  expect(await get('/api/patients/10007')).toMatchObject({ email: null, addressHistory: after.addressHistory });
  expect((await post(path, { externalRef: 'u4' })).status).toBe(400);
});

test('an unknown or ambiguous provider name fails the whole update; a unique name is linked', async () => {
  const path = '/api/patients/10008/demographics';
  const email = 'must-not@example.org';
  for (const [first, last, errorCode] of [
    ['No', 'Body', 'UNKNOWN_NAME'],
    ['Ari', 'Twinname', 'AMBIGUOUS_NAME'],
  ]) {
    const refused = await post(path, { externalRef: 'd1', email, referringFirstName: first, referringLastName: last });
    expect(refused).toMatchObject({ status: 422, body: { errorCode } });
  }
  expect((await get('/api/patients/10008')) as object).not.toMatchObject({ email });
  await post(path, { externalRef: 'd2', pcpFirstName: 'yael', pcpLastName: 'SENDINGTON', referringId: null });
  expect(await get('/api/patients/10008')).toMatchObject({
    pcpId: '8007',
    pcpFirstName: 'Yael',
    referringId: null,
    referringLastName: null,
  });
});

test('a corrected value is saved and reported in corrections and changes', async () => {
  const correct = (fields: object) =>
    clinic.control('POST', '/control/faults', {
      kind: 'correct_value',
      times: 1,
      reason: 'As on the card.',
      ...fields,
    });
  await correct({ operation: 'create_patient', field: 'lastName', value: 'Corrected' });
  const created = (await post('/api/patients', newPatient('corr'))).body;
  expect(created.corrections).toEqual([
    { field: 'lastName', sent: 'Freshcorr', saved: 'Corrected', note: 'As on the card.' },
  ]);
  expect(created.changes).toContainEqual({
    record: 'patient',
    field: 'lastName',
    label: 'Last name',
    before: null,
    after: 'Corrected',
  });
  await correct({ operation: 'update_patient', field: 'email', value: 'x@example.org' });
  await post(`/api/patients/${created.recordId}/demographics`, { externalRef: 'corr', email: 'y@example.org' });
  expect(await get(`/api/patients/${created.recordId}`)).toMatchObject({ email: 'x@example.org' });
});
