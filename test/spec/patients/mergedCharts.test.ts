import { afterAll, beforeAll, expect, test } from 'vitest';
import { erase } from '../../../src/product/erasure/erase.ts';
import { findPatientScope } from '../../../src/product/erasure/scopes.ts';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { referralBody } from '../referrals/referralRequests.ts';
import { complete, completeBooking, completeCall, completeUpload, free_day } from '../support/completedJobs.ts';
import { addClinicRow, clinicRows, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

async function addChart(lastName: string): Promise<Row> {
  return addClinicRow(fixture, 'patients', { firstName: 'Merged', lastName, birthDate: '02/28/1980' });
}

async function merge(from: Row, into: Row): Promise<void> {
  const path = `/control/patients/${from.patientId}/merge`;
  expect((await fixture.api.control('POST', path, { intoPatientId: into.patientId })).status).toBeLessThan(300);
}

const payment = { payment_method: 'Check', reference_number: '1042', location: '11', amount: 42.5 };

test(row('ATT-06'), async () => {
  const [first, second, surviving] = [await addChart('Firstly'), await addChart('Secondly'), await addChart('Lasting')];
  await addClinicRow(fixture, 'patient-insurances', { patientId: surviving.patientId, companyName: 'Mock Mutual' });
  // The first one is merged before any sync has read it.
  await merge(first, second);
  await fixture.api.sync();
  await merge(second, surviving);
  await fixture.api.sync();

  for (const { mrn } of [first, second]) {
    const outcomes = [
      await complete(fixture, '/v1/payments', { patient_mrn: mrn, ...payment }),
      await complete(fixture, '/v1/referrals', referralBody({ patient_mrn: mrn })),
      await completeCall(fixture, { patient_mrn: mrn }),
      await completeBooking(fixture, { mrn, datetime: `${free_day}T${mrn === first.mrn ? '07' : '08'}:00:00-04:00` }),
      await completeUpload(fixture, { patient_mrn: mrn }),
      await complete(fixture, '/v1/patient-notes', {
        ...{ patient_mrn: mrn, note: 'Prefers calls.', subject: 'Contact', location_id: '11' },
      }),
    ];
    for (const { event } of outcomes) {
      expect(event.event_type, JSON.stringify(event.data)).not.toMatch(/failed/);
      expect(event.data.patient_mrn ?? event.data.mrn, event.event_type).toBe(surviving.mrn);
    }
    const listed = await fixture.api.call('GET', `/v1/patients/${mrn}/insurances`);
    expect(listed.body.insurances).toMatchObject([{ insurance_name: 'Mock Mutual' }]);
    const [{ emr_insurance_id }] = listed.body.insurances;
    const path = `/v1/patients/${mrn}/insurances/${emr_insurance_id}`;
    const { event } = await complete(fixture, path, { group_id: `G-${mrn}` }, 'PATCH');
    expect(event.data).toMatchObject({ patient_mrn: surviving.mrn, group_id: `G-${mrn}` });
    const fetched = await complete(fixture, '/v1/patients/fetch', { search_by: 'mrn', mrn });
    expect(fetched.event.data.patients.map((each: Row) => each.mrn)).toStrictEqual([surviving.mrn]);
  }
  const referrals = await clinicRows(fixture, 'referrals', { patientId: surviving.patientId });
  expect(referrals).toHaveLength(2);
  // The second payment has the reference number of the first, which was one of the same patient.
  const { body } = await fixture.api.call('POST', '/v1/payments', { body: { patient_mrn: first.mrn, ...payment } });
  expect(body.warning).toBe('A payment of this patient with this reference_number was sent before.');
  await fixture.api.untilEvent(body.job_id);

  const unknown = await fixture.api.call('POST', '/v1/payments', { body: { patient_mrn: 'LK999999', ...payment } });
  expectApiError(unknown, 404, 'Patient not found.', 'patient_mrn');

  const [organization] = await fixture.owner<{ id: string; client_id: string }[]>`
    SELECT organization_id AS id, client_id FROM merged_charts LIMIT 1`;
  const scope = { client_id: organization?.client_id ?? '', organization_id: organization?.id ?? '' };
  await erase(fixture.ctx, await findPatientScope(fixture.ctx, scope, surviving.mrn), async () => {});
  await fixture.api.sync();
  expect(await fixture.owner`SELECT mrn FROM merged_charts`).toStrictEqual([]);
  expectApiError(
    await fixture.api.call('GET', `/v1/patients/${first.mrn}/insurances`),
    404,
    'Patient not found.',
    'patient_mrn',
  );
});
