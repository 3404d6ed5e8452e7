import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PatientInsuranceRecord } from '../../../src/model/records/patientInsurances.ts';
import { expectApiError, expectSchema } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { patient, setFault } from '../../journeys/support.ts';
import { type Charts, createCharts, type Row } from '../patients/charts.ts';
import { addClinicRow, changeClinicRow, clinicRows, isoDay } from '../support/emrRecords.ts';

let fixture: TestSandbox;
let charts: Charts;
let server: FhirServer;
let fhir: Api;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  charts = createCharts(fixture);
  server = await startFhirServer({ data: 'small' });
  fhir = await linkFhir(fixture, server, { user_id: 'fhir-user', org_id: 'fhir-practice' });
  await fhir.sync();
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));
afterAll(async () => {
  await fixture.close();
  await server.close();
});

async function get(mrn: string, query = '', api: Api = fixture.api) {
  const response = await api.call('GET', `/v1/patients/${mrn}/insurances?${query}`);
  if (response.status === 200) expectSchema('patients.insurances.list', response);
  return response;
}

const list = async (mrn: string, query = '', api: Api = fixture.api): Promise<Row[]> =>
  (await get(mrn, query, api)).body.insurances;

test(row('INL-01'), async () => {
  const policies = await clinicRows(fixture, 'patient-insurances');
  for (const n of [1, 2, 3, 4, 5, 6]) {
    const { mrn, ehr_id } = patient(n);
    const filed = policies.filter(({ patientId }) => patientId === ehr_id);
    const insurances = await list(mrn);
    expect(insurances.map(({ emr_insurance_id }) => emr_insurance_id).sort()).toStrictEqual(
      filed.map(({ insuranceId }) => insuranceId).sort(),
    );
    for (const insurance of insurances) {
      const own = filed.find(({ insuranceId }) => insuranceId === insurance.emr_insurance_id);
      expect(insurance).toStrictEqual({
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        emr_insurance_id: own.insuranceId,
        priority: own.priority,
        insurance_ehr_id: own.companyId,
        insurance_name: own.companyName,
        insurance_subscriber_number: own.subscriberNumber,
        group_id: own.groupNumber,
        plan_begin_date: isoDay(own.planBegins),
        plan_end_date: null,
        copayment: own.copayment,
        relationship_to_subscriber: own.relationshipCode,
        guarantor_id: own.guarantorId,
        is_guarantor_patient: own.guarantorIsPatient === 'Y',
        status: own.activeFlag === 'Y' ? 'active' : 'inactive',
      });
      expect(Object.keys(insurance)).toStrictEqual(Object.keys(PatientInsuranceRecord.properties));
    }
  }
  expect((await list(patient(1).mrn)).map(({ priority }) => priority)).toStrictEqual([1, 2]);
});

test(row('INL-02'), async () => {
  const { mrn, ehr_id } = patient(31);
  const add = (values: object) =>
    addClinicRow(fixture, 'patient-insurances', { patientId: ehr_id, companyName: 'Mock Mutual', ...values });
  await add({ subscriberNumber: 'ENDED', planEnds: '01/31/2020', planBegins: '01/01/2020' });
  await add({ subscriberNumber: 'OFF', activeFlag: 'N' });
  await add({ subscriberNumber: 'LAST', priority: 3, planEnds: '12/31/2099' });
  await fixture.api.sync();
  const numbers = async (query: string) =>
    (await list(mrn, query)).map((each) => each.insurance_subscriber_number).filter((number) => !/^TST/.test(number));
  expect(await numbers('status=active')).toStrictEqual(['LAST']);
  expect((await numbers('status=inactive')).sort()).toStrictEqual(['ENDED', 'OFF']);
  expect((await numbers('')).toSorted()).toStrictEqual(['ENDED', 'LAST', 'OFF']);
  const all = await list(mrn, 'status=all');
  expect(all).toStrictEqual(await list(mrn));
  expect(all.map(({ status }) => status)).toStrictEqual(all.map(({ status }) => status).toSorted());
  expectApiError(await get(mrn, 'status=ended'), 400, 'status must be one of: active, inactive, all', 'status');
});

test(row('INL-03'), async () => {
  const { mrn } = patient(32);
  const before = await list(mrn);
  const { data } = await charts.added(mrn, { member_id: 'OWN', priority: '3' });
  const added = (await list(mrn)).find((each) => each.emr_insurance_id === data.emr_insurance_id);
  expect(added).toMatchObject({ id: data.patient_insurance_id, insurance_subscriber_number: 'OWN', status: 'active' });
  expect(await list(mrn)).toHaveLength(before.length + 1);
  const changed = await charts.changed(mrn, data.emr_insurance_id, { member_id: 'CHANGED' });
  expect(changed.data.patient_insurance_id).toBe(added?.id);
  expect(await list(mrn)).toContainEqual({ ...added, insurance_subscriber_number: 'CHANGED' });
  await fixture.api.sync();
  expect(await list(mrn)).toContainEqual({ ...added, insurance_subscriber_number: 'CHANGED' });

  const created = await charts.created({ insurance_name: 'Mock Mutual', insurance_subscriber_number: 'NEW-1' });
  expect(await list(created.mrn)).toMatchObject([{ insurance_subscriber_number: 'NEW-1', priority: 1 }]);
});

test(row('INL-04'), async () => {
  const { mrn, ehr_id } = patient(33);
  const [first] = await list(mrn);
  const added = await addClinicRow(fixture, 'patient-insurances', {
    ...{ patientId: ehr_id, companyName: 'Mock Mutual', subscriberNumber: 'STAFF', priority: 3 },
  });
  await changeClinicRow(fixture, 'patient-insurances', first?.emr_insurance_id, { groupNumber: 'BY-STAFF' });
  expect((await list(mrn)).map((each) => each.insurance_subscriber_number)).not.toContain('STAFF');
  await fixture.api.sync();
  const after = await list(mrn);
  expect(after).toContainEqual({ ...first, group_id: 'BY-STAFF' });
  expect(after.map((each) => each.insurance_subscriber_number)).toContain('STAFF');
  const gone = `/control/patient-insurances/${added.insuranceId}`;
  expect((await fixture.api.control('DELETE', gone)).status).toBe(200);
  await fixture.api.sync();
  expect(await list(mrn)).toStrictEqual(after.filter((each) => each.insurance_subscriber_number !== 'STAFF'));
});

test(row('INL-05'), async () => {
  expectApiError(await get('NOBODY'), 404, 'Patient not found.', 'patient_mrn');
  // A patient of another practice of the client.
  expectApiError(await get('MB100001'), 404, 'Patient not found.', 'patient_mrn');
  expect((await get('MB100001', '', fhir)).status).toBe(200);
});

test(row('INL-06'), async () => {
  const [first, second, ...none] = await list('MB100001', '', fhir);
  expect(none).toStrictEqual([]);
  expect(first).toMatchObject({
    ...{ emr_insurance_id: 'cov-1', priority: 1, insurance_subscriber_number: 'TST100001', copayment: '25.00' },
    ...{ relationship_to_subscriber: '01', is_guarantor_patient: true, plan_end_date: null, status: 'active' },
  });
  expect(second).toMatchObject({ emr_insurance_id: 'cov-1b', priority: 2 });
  const event = await fhir.untilEvent(
    (await fhir.call('PATCH', '/v1/patients/MB100001/insurances/cov-1b', { body: { plan_end_date: '2026-01-31' } }))
      .body.job_id,
  );
  expect(event.event_type).toBe('patient.insurance.updated');
  expect(event.data.patient_insurance_id).toBe(second?.id);
  expect(await list('MB100001', '', fhir)).toStrictEqual([
    first,
    { ...second, plan_end_date: '2026-01-31', status: 'inactive' },
  ]);
  await fhir.sync();
  expect(await list('MB100001', 'status=inactive', fhir)).toMatchObject([
    { emr_insurance_id: 'cov-1b', id: second?.id },
  ]);
});

test(row('INL-07'), async () => {
  const { mrn } = patient(34);
  // The EMR saves the insurance, and cannot be read afterwards.
  await setFault(fixture.api, 'list_patient_insurances', 'error_500', { times: 20 });
  const response = await charts.add(mrn, { member_id: 'UNREAD', insurance_name: 'Mock Mutual', priority: '3' });
  const stored = async () =>
    (await fixture.owner`SELECT doc FROM patient_insurances WHERE id = ${response.body.patient_insurance_id}`)[0];
  await expect.poll(() => charts.rows('patient-insurances', { subscriberNumber: 'UNREAD' })).toHaveLength(1);
  await fixture.api.control('DELETE', '/control/faults');
  const event = await charts.outcome(response);
  expect(event.event_type).toBe('patient.insurance.added');
  await fixture.api.sync();
  expect(await stored()).toMatchObject({ doc: { id: response.body.patient_insurance_id } });
  expect(await list(mrn)).toContainEqual(
    expect.objectContaining({ id: response.body.patient_insurance_id, insurance_subscriber_number: 'UNREAD' }),
  );
});
