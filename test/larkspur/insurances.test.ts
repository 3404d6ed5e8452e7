import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Clinic, openClinic } from './fixture.ts';

let clinic: Clinic;
let token: string;
const get = async (path: string) => (await clinic.api('GET', path, undefined, token)).body;
const post = (path: string, body: object) => clinic.api('POST', path, body, token);
const INSURANCES = '/api/patients/10001/insurances';

beforeAll(async () => {
  clinic = await openClinic();
  token = (await clinic.signIn()).sessionToken;
});
afterAll(() => clinic.close());

test('some insurance companies share a name and some have no carrier id; referring providers have all documented fields', async () => {
  const { rows, total } = await get('/api/insurance-companies');
  expect(total).toBe(18);
  expect(Object.keys(rows[0] ?? {})).toEqual(
    'companyId name payerId carrierId activeFlag address createdAt'.split(' '),
  );
  expect(rows.filter((row) => row.name === 'Sample Health Plan')).toHaveLength(3);
  expect(rows.filter((row) => row.carrierId === null)).toHaveLength(3);
  const referring = await get('/api/referring-providers');
  expect(referring.total).toBe(12);
  expect(Object.keys(referring.rows[0] ?? {})).toEqual(
    'referringId firstName lastName middleInitial speciality phone fax email npi address activeFlag'.split(' '),
  );
});

test('the patient’s row shows the primary insurance', async () => {
  const [primary, secondary] = (await get(INSURANCES)).rows;
  expect(primary).toMatchObject({ companyName: 'Examplecare Gold', subscriberNumber: 'TST100001', priority: 1 });
  expect(secondary).toMatchObject({ priority: 2, activeFlag: 'Y' });
  expect(Object.keys(primary ?? {})).toEqual(
    (
      'insuranceId patientId priority companyId companyName payerId subscriberNumber groupNumber planBegins planEnds ' +
      'copayment relationshipCode guarantorId guarantorIsPatient activeFlag mrn inForceFlag'
    ).split(' '),
  );
});

test('adds an insurance with defaults and reports each changed field', async () => {
  const { status, body } = await post(INSURANCES, { externalRef: 'i1', companyId: '309', subscriberNumber: 'M9' });
  expect(status).toBe(201);
  expect(body.changes).toContainEqual({
    record: 'insurance',
    field: 'subscriberNumber',
    label: 'Subscriber number',
    before: null,
    after: 'M9',
  });
  const added = (await get(INSURANCES)).rows.find((row) => row.insuranceId === body.recordId);
  expect(added).toMatchObject({
    priority: 3,
    companyName: 'Fixture Medicaid',
    payerId: 'FXM01',
    planBegins: '03/10/2026',
    copayment: null,
    guarantorIsPatient: 'Y',
  });
});

test('a subscriber other than the patient is a new or existing guarantor', async () => {
  const policy = { companyId: '309', subscriberNumber: 'M1', relationshipCode: '02' };
  expect(await post(INSURANCES, { externalRef: 'g0', ...policy })).toMatchObject({ status: 422 });
  const guarantor = { firstName: 'Sam', lastName: 'Spouse', relationshipCode: '2' };
  const { recordId } = (await post(INSURANCES, { externalRef: 'g1', ...policy, guarantor })).body;
  const [created] = (await get('/api/patients/10001/guarantors')).rows;
  const read = async () => (await get(INSURANCES)).rows.find((row) => row.insuranceId === recordId);
  expect(await read()).toMatchObject({ guarantorId: created?.guarantorId, guarantorIsPatient: 'N' });
  const again = await post('/api/patients/10001/guarantors', { externalRef: 'g2', ...guarantor });
  expect(again.body.recordId).not.toBe(created?.guarantorId);
  const party = { externalRef: 'g3', responsiblePartyCode: '2', guarantorId: again.body.recordId };
  const set = await post('/api/patients/10001/responsible-party', party);
  expect(set.body.changes.map((change) => change.field)).toEqual(['responsiblePartyCode', 'responsibleGuarantorId']);
  const withoutGuarantor = { externalRef: 'g4', responsiblePartyCode: '2' };
  expect((await post('/api/patients/10001/responsible-party', withoutGuarantor)).status).toBe(422);
  const ofOtherPatient = { externalRef: 'g5', ...policy, guarantorId: again.body.recordId };
  expect((await post('/api/patients/10002/insurances', ofOtherPatient)).status).toBe(404);
  await post(`/api/patient-insurances/${recordId}`, { externalRef: 'g6', relationshipCode: '01' });
  expect(await read()).toMatchObject({ relationshipCode: '01', guarantorId: null, guarantorIsPatient: 'Y' });
});

test('updates single fields of an insurance; refuses a company without a carrier id', async () => {
  const [primary] = (await get(INSURANCES)).rows;
  const path = `/api/patient-insurances/${primary?.insuranceId}`;
  expect(await post(path, { externalRef: 'c1', companyId: '308' })).toMatchObject({
    status: 422,
    body: { errorText: "The insurance company with id '308' has no carrier id." },
  });
  const { body } = await post(path, {
    externalRef: 'c2',
    companyId: '302',
    subscriberNumber: 'NEW1',
    copayment: '15.5',
  });
  expect(body.recordId).toBe(primary?.insuranceId);
  expect(body.changes).toContainEqual({
    record: 'insurance',
    field: 'companyName',
    label: 'Company name',
    before: 'Examplecare Gold',
    after: 'Mock Mutual',
  });
  expect((await get(INSURANCES)).rows[0]).toMatchObject({ companyId: '302', copayment: '15.50', priority: 1 });
  expect(await get('/api/patients/10001')).toMatchObject({
    primaryInsuranceName: 'Mock Mutual',
    primarySubscriberNumber: 'NEW1',
  });
  expect((await post(path, { externalRef: 'c3' })).status).toBe(400);
  expect((await post('/api/patient-insurances/x', { externalRef: 'c4', copayment: '1' })).status).toBe(404);
  const fault = {
    operation: 'update_patient_insurance',
    kind: 'correct_value',
    field: 'groupNumber',
    value: 'G7',
    times: 1,
  };
  await clinic.control('POST', '/control/faults', fault);
  const corrected = (await post(path, { externalRef: 'c5', groupNumber: 'g-7' })).body;
  expect(corrected.corrections).toMatchObject([{ field: 'groupNumber', sent: 'g-7', saved: 'G7' }]);
  expect(corrected.changes).toMatchObject([{ field: 'groupNumber', after: 'G7' }]);
});

test('lists eligibility checks of all patients, or of one, with their benefits', async () => {
  const all = await get('/api/eligibility-checks?pageSize=500');
  expect(all.rows).toHaveLength(all.total);
  const statuses = new Set(all.rows.map((row) => row.statusCode));
  for (const status of ['ACT', 'INA', 'ERR']) expect(statuses).toContain(status);
  for (const row of all.rows) expect(row.benefits.length > 0, row.checkId).toBe(row.statusCode === 'ACT');
  const own = (await get('/api/eligibility-checks?mrn=LK100001')).rows;
  expect(own.map((row) => row.checkId)).toContain('90001');
  expect(new Set(own.map((row) => row.mrn))).toEqual(new Set(['LK100001']));
});

test('records an eligibility check for the given or first active insurance; refuses an unknown insurance', async () => {
  const { rows } = await get(INSURANCES);
  const check = (fields: object) => post('/api/patients/10001/eligibility-checks', fields);
  expect((await check({ externalRef: 'e1' })).body.changes).toContainEqual(
    expect.objectContaining({ record: 'eligibility check', field: 'insuranceId', after: rows[0]?.insuranceId }),
  );
  expect((await check({ externalRef: 'e2', insuranceId: rows[1]?.insuranceId })).status).toBe(201);
  expect((await check({ externalRef: 'e3', insuranceId: 'x' })).status).toBe(422);
});

test('swaps the priorities of two insurances in one write, and ends one', async () => {
  const own = async () => (await get('/api/patients/10001/insurances')).rows;
  const [first, second] = (await own()).filter((row) => row.inForceFlag === 'Y' && row.priority < 3);
  const swap = (insurance: typeof first, fields: object) =>
    post(`/api/patient-insurances/${insurance?.insuranceId}`, { swapPriority: 'Y', ...fields });
  const { body } = await swap(second, { externalRef: 's1', priority: 1 });
  expect(body.changes).toMatchObject([
    { record: 'insurance', field: 'priority', before: '2', after: '1' },
    { record: 'swapped insurance', field: 'priority', before: '1', after: '2' },
  ]);
  const priority = async (insurance: typeof first) =>
    (await own()).find((row) => row.insuranceId === insurance?.insuranceId)?.priority;
  expect([await priority(first), await priority(second)]).toEqual([2, 1]);
  const again = await Promise.all([
    swap(first, { externalRef: 's2', priority: 1 }),
    swap(second, { externalRef: 's3', priority: 1 }),
  ]);
  expect(again.map(({ status }) => status)).toEqual([201, 201]);
  expect([await priority(first), await priority(second)].toSorted()).toEqual([1, 2]);
  const end = (externalRef: string, planEnds: string) =>
    post(`/api/patient-insurances/${second?.insuranceId}`, { externalRef, planEnds });
  expect((await end('s4', '01/01/1999')).body).toMatchObject({ errorCode: 'RULE_BROKEN' });
  expect((await end('s5', '12/31/2025')).status).toBe(201);
  expect((await own()).find((row) => row.insuranceId === second?.insuranceId)).toMatchObject({
    ...{ planEnds: '12/31/2025', activeFlag: 'Y', inForceFlag: 'N' },
  });
  expect((await swap(second, { externalRef: 's6', priority: 3 })).body).toMatchObject({ errorCode: 'RULE_BROKEN' });
  const all = await get('/api/patient-insurances?pageSize=500');
  expect(all.rows).toHaveLength(all.total);
  expect(all.rows.filter((row) => row.patientId === '10001')).toEqual(
    expect.arrayContaining([expect.objectContaining({ insuranceId: second?.insuranceId, mrn: 'LK100001' })]),
  );
});
