import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { patient, setFault } from '../../journeys/support.ts';
import { type Charts, createCharts, type Row } from '../patients/charts.ts';
import { addClinicRow } from '../support/emrRecords.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

/** A new patient with a primary and a secondary insurance. */
async function insured(): Promise<{ mrn: string; first: Row; second: Row }> {
  const { mrn, chart } = await charts.created({
    ...{ insurance_name: 'Mock Mutual', insurance_subscriber_number: 'FIRST' },
    ...{ secondary_insurance_name: 'Demo Medicare', secondary_insurance_subscriber_number: 'SECOND' },
  });
  const [first, second] = (await charts.insurances(chart)).toSorted((a, b) => a.priority - b.priority);
  return { mrn, first, second };
}

async function priorities(...rows: Row[]): Promise<number[]> {
  return Promise.all(rows.map(async ({ insuranceId }) => (await charts.insurance(insuranceId)).priority));
}

const listed = async (mrn: string): Promise<Row[]> =>
  (await fixture.api.call('GET', `/v1/patients/${mrn}/insurances`)).body.insurances;

describe('insurance_sequence', () => {
  test(row('INU-16'), async () => {
    const { mrn, first, second } = await insured();
    const written = (await fixture.api.ledger()).length;
    const { data } = await charts.changed(mrn, second.insuranceId, { insurance_sequence: 'primary' });
    expect(await priorities(first, second)).toStrictEqual([2, 1]);
    expect((await fixture.api.ledger()).length).toBe(written + 1);
    expect(data.audit_trail).toStrictEqual([
      { field_label: expect.any(String), before: '2', after: '1', property: 'priority' },
      { field_label: expect.any(String), before: '1', after: '2', property: 'swapped_insurance.priority' },
    ]);
    expect((await listed(mrn)).map(({ emr_insurance_id, priority }) => [emr_insurance_id, priority])).toStrictEqual([
      [second.insuranceId, 1],
      [first.insuranceId, 2],
    ]);
    // Nobody has the third place.
    await charts.changed(mrn, first.insuranceId, { insurance_sequence: 'tertiary', group_id: 'G3' });
    expect(await priorities(first, second)).toStrictEqual([3, 1]);
    expect((await charts.insurance(first.insuranceId)).groupNumber).toBe('G3');
    const same = await charts.changed(mrn, second.insuranceId, { insurance_sequence: 'primary' });
    expect(same.data.audit_trail).toStrictEqual([]);
    expect(await priorities(first, second)).toStrictEqual([3, 1]);
    for (const value of ['first', 1, '1', null, '']) {
      const response = await charts.change(mrn, second.insuranceId, { insurance_sequence: value });
      expectApiError(response, 400, /insurance_sequence/, 'insurance_sequence');
    }
  });

  test(row('INU-17'), async () => {
    const { mrn, first, second } = await insured();
    await setFault(fixture.api, 'update_patient_insurance', 'lose_answer');
    const event = await charts.outcome(await charts.change(mrn, second.insuranceId, { insurance_sequence: 'primary' }));
    expect(event.event_type).toBe('patient.insurance.updated');
    expect(await priorities(first, second)).toStrictEqual([2, 1]);
    const changes = (await fixture.api.ledger()).filter(
      ({ operation, patient_mrn, applied }: Row) =>
        operation === 'update_patient_insurance' && patient_mrn === mrn && applied,
    );
    expect(changes).toHaveLength(1);
  });

  test(row('INU-18'), async () => {
    const { mrn, first, second } = await insured();
    const swaps = await Promise.all([
      charts.change(mrn, second.insuranceId, { insurance_sequence: 'primary' }),
      charts.change(mrn, first.insuranceId, { insurance_sequence: 'primary' }),
    ]);
    for (const response of swaps) {
      expect((await charts.outcome(response)).event_type).toBe('patient.insurance.updated');
    }
    expect((await priorities(first, second)).toSorted()).toStrictEqual([1, 2]);
  });

  test(row('ATT-07'), async () => {
    const { mrn, first, second } = await insured();
    const third = await addClinicRow(fixture, 'patient-insurances', {
      ...{ patientId: first.patientId, companyName: 'Mock Mutual', priority: 1 },
    });
    const failed = await charts.outcome(
      await charts.change(mrn, second.insuranceId, { insurance_sequence: 'primary', group_id: 'G9' }),
    );
    expect(failed.event_type).toBe('patient.insurance.failed');
    expect(failed.data.error).toBe(
      'The patient has several insurances with priority 1 in force. Correct their order in the EMR first.',
    );
    expect(await priorities(first, second, third)).toStrictEqual([1, 2, 1]);
    expect((await charts.insurance(second.insuranceId)).groupNumber).not.toBe('G9');
    // One of the two may leave the place, or stay there.
    await charts.changed(mrn, third.insuranceId, { insurance_sequence: 'primary' });
    await charts.changed(mrn, third.insuranceId, { insurance_sequence: 'tertiary' });
    await charts.changed(mrn, second.insuranceId, { insurance_sequence: 'primary' });
    expect(await priorities(first, second, third)).toStrictEqual([2, 1, 3]);
  });
});

describe('plan_end_date', () => {
  test(row('INU-19'), async () => {
    const { mrn, first, second } = await insured();
    const { data } = await charts.changed(mrn, first.insuranceId, {
      plan_begin_date: '2024-01-01',
      plan_end_date: '2025-12-31',
    });
    expect((await charts.insurance(first.insuranceId)).planEnds).toBe('12/31/2025');
    expect(data.audit_trail).toContainEqual(
      expect.objectContaining({ property: 'plan_end_date', before: null, after: '2025-12-31' }),
    );
    expect(await listed(mrn)).toMatchObject([
      { emr_insurance_id: second.insuranceId, status: 'active' },
      { emr_insurance_id: first.insuranceId, status: 'inactive', plan_end_date: '2025-12-31' },
    ]);
    const { body } = await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
    expect(body.patients[0].insurance_subscriber_number).toBe('SECOND');
    // It no longer counts when another one takes its place, and cannot take one itself.
    await charts.changed(mrn, second.insuranceId, { insurance_sequence: 'primary' });
    expect(await priorities(first, second)).toStrictEqual([1, 1]);
    const ended = await charts.outcome(
      await charts.change(mrn, first.insuranceId, { insurance_sequence: 'secondary' }),
    );
    expect(ended).toMatchObject({
      event_type: 'patient.insurance.failed',
      data: { error: expect.stringContaining('not in force') },
    });
    await charts.changed(mrn, first.insuranceId, { plan_end_date: null });
    expect((await charts.insurance(first.insuranceId)).planEnds).toBeNull();
    expect((await listed(mrn)).map(({ status }) => status)).toStrictEqual(['active', 'active']);
  });

  test(row('INU-20'), async () => {
    const { mrn, first } = await insured();
    const rule = 'plan_end_date must not be before plan_begin_date';
    await charts.rejects(400, rule, [
      () => charts.change(mrn, first.insuranceId, { plan_begin_date: '2025-02-01', plan_end_date: '2025-01-31' }),
    ]);
    await charts.rejects(400, /^plan_end_date must be a date/, [
      () => charts.change(mrn, first.insuranceId, { plan_end_date: '01/31/2025' }),
    ]);
    const event = await charts.outcome(await charts.change(mrn, first.insuranceId, { plan_end_date: '1999-12-31' }));
    expect(event).toMatchObject({ event_type: 'patient.insurance.failed', data: { error: `${rule}.` } });
    expect((await charts.insurance(first.insuranceId)).planEnds).toBeNull();
  });
});

test(row('INU-21'), async () => {
  const { mrn, first, second } = await insured();
  const written = (await fixture.api.ledger()).length;
  const path = `/v1/patients/${mrn}/insurances/${second.insuranceId}?dry_run=true`;
  const { status, body } = await fixture.api.call('PATCH', path, {
    body: { insurance_sequence: 'primary', plan_end_date: '2099-12-31' },
  });
  expect([status, body.emr_checked]).toStrictEqual([200, true]);
  const would = body.would.map(({ field, before, after }: Row) => [field, before, after]);
  expect(would).toHaveLength(3);
  expect(would).toEqual(
    expect.arrayContaining([
      ['priority', '2', '1'],
      ['swapped_insurance.priority', '1', '2'],
      ['plan_end_date', null, '2099-12-31'],
    ]),
  );
  expect(await priorities(first, second)).toStrictEqual([1, 2]);
  expect((await fixture.api.ledger()).length).toBe(written);
});

test(row('INU-22'), async () => {
  const server = await startFhirServer({ data: 'small' });
  const api = await linkFhir(fixture, server, { user_id: 'no-swaps', org_id: 'no-swaps' });
  await api.sync();
  const response = await api.call('PATCH', '/v1/patients/MB100001/insurances/cov-1b', {
    body: { insurance_sequence: 'primary' },
  });
  expectApiError(response, 400, /insurance_sequence/, 'insurance_sequence');
  expect(response.body.code).toBe('unsupported_field');
  await server.close();
});

test('an update of the example patient keeps the order of its insurances', async () => {
  const before = (await listed(patient(1).mrn)).map(({ emr_insurance_id }) => emr_insurance_id);
  const [first] = before;
  await charts.changed(patient(1).mrn, String(first), { group_id: 'KEPT' });
  expect((await listed(patient(1).mrn)).map(({ emr_insurance_id }) => emr_insurance_id)).toStrictEqual(before);
});
