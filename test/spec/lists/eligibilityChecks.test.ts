import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EligibilityBenefit, EligibilityCheck } from '../../../src/model/records/eligibilityChecks.ts';
import { apiAs, expectApiError, expectSchema } from '../../api/support.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { addClinicRow, clinicRows, isoDay, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
/** The checks in Larkspur, and as the service lists them. */
let filed: Map<string, Row>;
let all: Row[];
beforeAll(async () => {
  fixture = await startSandbox();
  const patients = await clinicRows(fixture, 'patients');
  const mrns = new Map(patients.map(({ patientId, mrn }) => [patientId, mrn]));
  const add = (values: object) => addClinicRow(fixture, 'eligibility-checks', { ...complete, ...values });
  await add({});
  await add({ statusCode: 'REQ', respondedAt: null, benefits: [] });
  await fixture.api.sync();
  filed = new Map(
    (await clinicRows(fixture, 'eligibility-checks')).map((each) => [
      each.checkId,
      { ...each, mrn: mrns.get(each.patientId) },
    ]),
  );
  all = (await get('page_size=500')).body.eligibility_checks;
});
afterAll(() => fixture.close());

const benefit = {
  typeCode: 'C',
  typeName: 'Deductible',
  levelCode: 'IND',
  serviceTypeCodes: ['30', '98'],
  insuranceType: 'PR',
  timePeriod: 'Calendar Year',
  amount: '1200.50',
  percent: null,
  networkCode: 'Y',
  messages: ['AFTER COPAY', 'SEE PLAN'],
  segment: 'EB*C*IND*30^98*PR**23*1200.5*****Y~',
};

const complete = {
  patientId: '10002',
  insuranceId: '85001',
  companyName: 'Mock Mutual',
  statusCode: 'ACT',
  statusMessage: 'Verified',
  serviceDate: '01/31/2031',
  respondedAt: '2031-01-30T12:34:56.000Z',
  appointmentId: '400001',
  providerId: '501',
  planName: 'Mock Mutual Gold',
  subscriberName: 'Testpatient, Sub',
  subscriberNumber: 'TST555',
  relationshipCode: '02',
  planBegins: '01/01/2031',
  planEnds: '12/31/2031',
  benefits: [
    { ...benefit, lineNumber: 1, timePeriod: 'Remaining', amount: '10.00' },
    { ...benefit, lineNumber: 2, levelCode: 'FAM', amount: '2401.00', networkCode: 'N' },
    { ...benefit, lineNumber: 3 },
    {
      ...benefit,
      ...{ lineNumber: 4, typeCode: 'G', typeName: 'Out of Pocket (Stop Loss)', amount: '7000.00', networkCode: 'W' },
    },
    {
      ...benefit,
      ...{ lineNumber: 5, typeCode: 'A', typeName: 'Co-Insurance', amount: null, percent: 20, levelCode: null },
      ...{ networkCode: null, timePeriod: null, messages: [], insuranceType: null, segment: null },
    },
  ],
};

async function get(query = '') {
  const response = await fixture.api.call('GET', `/v1/eligibility-checks?${query}`);
  if (response.status === 200) expectSchema('eligibility-checks.list', response);
  return response;
}

async function benefits(id: string, query = '') {
  const response = await fixture.api.call('GET', `/v1/eligibility-checks/${id}/benefits?${query}`);
  if (response.status === 200) expectSchema('eligibility-checks.benefits.list', response);
  return response;
}

const findIds = async (query: string) =>
  (await get(`${query}&page_size=500`)).body.eligibility_checks.map(({ emr_id }: Row) => emr_id).sort();

/** The ids of the matching checks. Must be some but not all, or the filter would prove nothing. */
function filedWhere(holds: (check: Row) => boolean): string[] {
  const ids = [...filed.values()].filter(holds).map(({ checkId }) => checkId);
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.length).toBeLessThan(filed.size);
  return ids.sort();
}

const completeCheck = () =>
  all.find(({ service_date, coverage_status }) => service_date === '2031-01-31' && coverage_status === 'active') ?? {};

test(row('ELG-01'), async () => {
  expect(all.length).toBeGreaterThan(40);
  expect(all.map(({ emr_id }) => emr_id).sort()).toStrictEqual([...filed.keys()].sort());
  for (const check of all) {
    expect(Object.keys(check).sort()).toStrictEqual(Object.keys(EligibilityCheck.properties).sort());
    expect(check.id).toMatch(/^[0-9a-f]{32}$/);
    expect(check.emr_patient_id).toBe(filed.get(check.emr_id)?.patientId);
    expect(check.service_date).toBe(isoDay(filed.get(check.emr_id)?.serviceDate));
  }
  const { id: _id, emr_id: _emr_id, patient_name, patient_dob, ...check } = completeCheck();
  const [patient] = await clinicRows(fixture, 'patients', { patientId: '10002' });
  expect([patient_name, patient_dob]).toStrictEqual([
    `${patient.lastName}, ${patient.firstName}`,
    isoDay(patient.birthDate),
  ]);
  expect(check).toStrictEqual({
    emr_patient_id: '10002',
    emr_encounter_id: '400001',
    provider_name: expect.stringMatching(/, MD$/),
    payer_name: 'Mock Mutual',
    subscriber_name: 'Testpatient, Sub',
    subscriber_member_id: 'TST555',
    patient_relationship: 'dependent',
    plan_name: 'Mock Mutual Gold',
    coverage_status: 'active',
    status_message: 'Verified',
    service_date: '2031-01-31',
    response_at: '2031-01-30T12:34:56.000Z',
    plan_begin_date: '2031-01-01',
    plan_end_date: '2031-12-31',
    benefits_summary: { deductible: 1200.5, out_of_pocket: 7000 },
    benefit_count: 5,
  });
});

test(row('ELG-02'), async () => {
  const days = [...new Set([...filed.values()].map(({ serviceDate }) => isoDay(serviceDate)))].sort();
  const day = days[Math.floor(days.length / 2)] ?? '';
  expect(await findIds(`start_date=${day}`)).toStrictEqual(filedWhere((each) => isoDay(each.serviceDate) >= day));
  expect(await findIds(`end_date=${day}`)).toStrictEqual(filedWhere((each) => isoDay(each.serviceDate) <= day));
  expect(await findIds(`start_date=${day}&end_date=${day}`)).toStrictEqual(
    filedWhere((each) => isoDay(each.serviceDate) === day),
  );
  expectApiError(await get('start_date=01/31/2026'), 400, /^start_date must be/, 'start_date');
  const reversed = await get('start_date=2026-02-02&end_date=2026-02-01');
  expectApiError(reversed, 400, 'end_date must not be before start_date', 'end_date');
});

test(row('ELG-03'), async () => {
  const { patient_mrn } = fixture.sandbox.example;
  expect(await findIds(`patient_mrn=${patient_mrn}`)).toStrictEqual(filedWhere(({ mrn }) => mrn === patient_mrn));
  expect(await findIds('patient_mrn=LK1')).toStrictEqual([]);
});

test(row('ELG-04'), async () => {
  const codes = { active: 'ACT', inactive: 'INA', error: 'ERR', unknown: 'REQ' };
  for (const [status, code] of Object.entries(codes)) {
    expect(await findIds(`coverage_status=${status}`), status).toStrictEqual(
      filedWhere(({ statusCode }) => statusCode === code),
    );
  }
  expectApiError(
    await get('coverage_status=ACT'),
    400,
    'coverage_status must be one of: active, inactive, error, unknown',
    'coverage_status',
  );
});

test(row('ELG-05'), async () => {
  const { body } = await get();
  expect(body.pagination).toMatchObject({ page: 1, page_size: 100, total_count: all.length });
  expect((await get('page_size=5&page=2')).body.eligibility_checks).toStrictEqual(all.slice(5, 10));
  expectApiError(await get('page_size=501'), 400, /^page_size .*500/, 'page_size');
  const sorted = all.toSorted((a, b) => b.service_date.localeCompare(a.service_date) || (a.id < b.id ? -1 : 1));
  expect(all.map(({ id }) => id)).toStrictEqual(sorted.map(({ id }) => id));
});

test(row('ELG-06'), async () => {
  const walked: Row[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await get(`coverage_status=active&page_size=7&cursor=${cursor}`);
    walked.push(...body.eligibility_checks);
    cursor = body.pagination.next_cursor;
  }
  const ids = all.filter(({ coverage_status }) => coverage_status === 'active').map(({ id }) => id);
  expect(walked.map(({ id }) => id)).toStrictEqual(ids.sort());
});

test(row('ELG-11'), async () => {
  const server = await startFhirServer({ data: 'small' });
  const api = await linkFhir(fixture, server, { user_id: 'fhir-user', org_id: 'fhir-practice' });
  await api.sync();
  const response = await api.call('GET', '/v1/eligibility-checks');
  expectSchema('eligibility-checks.list', response);
  const { body } = response;
  const byId = (emr_id: string) => body.eligibility_checks.find((each: Row) => each.emr_id === emr_id);
  expect(body.eligibility_checks).toHaveLength(3);
  expect(byId('elig-1')).toMatchObject({
    ...{ emr_patient_id: 'pat-1', coverage_status: 'active', patient_relationship: 'self', benefit_count: 4 },
    benefits_summary: { deductible: 1250, out_of_pocket: 5000 },
  });
  expect(byId('elig-5')).toMatchObject({ coverage_status: 'error', status_message: 'Subscriber not found.' });
  expect(byId('elig-9')).toMatchObject({ coverage_status: 'inactive', benefit_count: 0 });
  const lines = await api.call('GET', `/v1/eligibility-checks/${byId('elig-1').id}/benefits?benefit_type=deductible`);
  expect(lines.body.benefits).toMatchObject([{ line_number: 1, amount: 1250, coverage_level: 'IND' }]);
  await server.close();
});

describe('the benefits of a check', () => {
  test(row('ELG-07'), async () => {
    const { body } = await benefits(completeCheck().id);
    expect(body.benefits).toHaveLength(5);
    for (const each of body.benefits) {
      expect(Object.keys(each).sort()).toStrictEqual(Object.keys(EligibilityBenefit.properties).sort());
    }
    expect(body.benefits[2]).toStrictEqual({
      line_number: 3,
      benefit_type: 'Deductible',
      benefit_type_code: 'C',
      coverage_level: 'IND',
      service_type_codes: ['30', '98'],
      insurance_type: 'PR',
      time_period: 'Calendar Year',
      amount: 1200.5,
      percent: null,
      network_indicator: 'in-network',
      messages: ['AFTER COPAY', 'SEE PLAN'],
      raw_segment: 'EB*C*IND*30^98*PR**23*1200.5*****Y~',
    });
    expect(body.benefits[4]).toMatchObject({ amount: null, percent: 20, coverage_level: null, raw_segment: null });
    expect(body.benefits.map((each: Row) => each.network_indicator)).toStrictEqual([
      ...['in-network', 'out-of-network', 'in-network', 'not-applicable', 'unknown'],
    ]);
  });

  test(row('ELG-08'), async () => {
    const { id } = completeCheck();
    const lines = async (query: string) => {
      const { body } = await benefits(id, query);
      return [body.benefits.map((each: Row) => each.line_number), body.pagination];
    };
    const pagination = { page: 1, current_page: 1, page_size: 100, total_count: 3, total_records: 3, total_pages: 1 };
    expect(await lines('benefit_type=deductible')).toStrictEqual([[1, 2, 3], pagination]);
    expect(await lines('benefit_type=Deductible&page_size=2&page=2')).toStrictEqual([
      [3],
      { ...pagination, page: 2, current_page: 2, page_size: 2, total_pages: 2 },
    ]);
    expect(await lines('benefit_type=Vision')).toStrictEqual([
      [],
      { ...pagination, total_count: 0, total_records: 0, total_pages: 0 },
    ]);
    expect(await lines('page_size=2&page=3')).toMatchObject([[5], { total_records: 5, total_pages: 3 }]);
    expectApiError(await benefits(id, 'page_size=501'), 400, /^page_size .*500/, 'page_size');
    expectApiError(await benefits(id, 'type=Deductible'), 400, 'Unexpected query parameters: type', 'type');
  });

  test(row('ELG-09'), async () => {
    for (const id of ['0123456789abcdef0123456789abcdef', 'none', fixture.sandbox.client_id]) {
      expectApiError(await benefits(id), 404, `Eligibility check with ID '${id}' not found.`, 'id');
    }
    const access_token = await fixture.api.link({ user_id: 'elsewhere', org_id: 'elsewhere', staff: 1 });
    const other_api = apiAs(fixture, { ...fixture.sandbox, access_token });
    const path = `/v1/eligibility-checks/${completeCheck().id}/benefits`;
    expect((await other_api.call('GET', path)).status).toBe(404);
  });

  test(row('ELG-10'), async () => {
    const [check] = all.filter(({ benefit_count }) => benefit_count > 0);
    const path = `/control/eligibility-checks/${check?.emr_id}`;
    const changed = filed.get(check?.emr_id)?.benefits.slice(0, 1);
    expect((await fixture.api.control('PATCH', path, { benefits: changed, planName: 'Other plan' })).status).toBe(200);
    await fixture.api.sync();
    const [now] = (await get('page_size=500')).body.eligibility_checks.filter(({ id }: Row) => id === check?.id);
    expect(now).toMatchObject({ plan_name: 'Other plan', benefit_count: 1 });
    expect((await benefits(check?.id)).body.pagination.total_records).toBe(1);
    expect((await fixture.api.control('DELETE', path)).status).toBe(200);
    await fixture.api.sync();
    expect(await findIds('')).not.toContain(check?.emr_id);
    expect((await benefits(check?.id)).status).toBe(404);
  });
});
