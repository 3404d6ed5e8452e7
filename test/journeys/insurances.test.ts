import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectApiError } from '../api/support.ts';
import type { ApiResponse } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { countRows, patient, setFault } from './support.ts';

let fixture: TestSandbox;
let companies: ApiResponse['body'][];
beforeAll(async () => {
  fixture = await sharedSandbox();
  companies = (await fixture.api.call('GET', '/v1/insurance-providers')).body.insurance_providers;
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const add = (mrn: string, body: Record<string, unknown>) =>
  fixture.api.call('POST', `/v1/patients/${mrn}/insurances`, { body });
const update = (mrn: string, emr_insurance_id: string, body: Record<string, unknown>) =>
  fixture.api.call('PATCH', `/v1/patients/${mrn}/insurances/${emr_insurance_id}`, { body });

async function added(mrn: string, fields: Record<string, unknown> = {}): Promise<ApiResponse['body']> {
  const { body } = await add(mrn, { member_id: 'M1', insurance_name: 'Mock Mutual', ...fields });
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event, JSON.stringify(event)).toMatchObject({ event_type: 'patient.insurance.added' });
  return event.data;
}

async function insuranceInEmr(insuranceId: string): Promise<ApiResponse['body']> {
  const { body } = await fixture.api.control('GET', `/control/patient-insurances?insuranceId=${insuranceId}`);
  return body.rows[0];
}

describe('an insurance', () => {
  test('is added with its subscriber, and the event lists every field', async () => {
    const { mrn, ehr_id } = patient(20);
    const { status, body } = await add(mrn, {
      member_id: 'M-20',
      group_id: 'G-20',
      insurance_name: 'mock mutual',
      priority: '3',
      plan_begin_date: '2026-01-01',
      copayment: 25.5,
      relationship_to_subscriber: 'Life Partner',
      subscriber_demographics: {
        first_name: 'Sub',
        last_name: 'Scriber',
        state: 'ny',
        zip: '12999-0001',
        sex: 'female',
        dob: '1980-02-29',
      },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    const event = await fixture.api.untilEvent(body.job_id);
    expect(event.data).toMatchObject({
      patient_insurance_id: body.patient_insurance_id,
      patient_mrn: mrn,
      member_id: 'M-20',
      group_id: 'G-20',
      plan_begin_date: '2026-01-01',
      copayment: 25.5,
    });
    expect(event.data.audit_trail).toContainEqual({
      field_label: 'Subscriber number',
      before: null,
      after: 'M-20',
      property: 'member_id',
    });
    const row = await insuranceInEmr(event.data.emr_insurance_id);
    expect(row).toMatchObject({
      patientId: ehr_id,
      companyName: 'Mock Mutual',
      priority: 3,
      planBegins: '01/01/2026',
      copayment: '25.50',
      relationshipCode: '53',
    });
    const { body: guarantors } = await fixture.api.control('GET', `/control/guarantors?guarantorId=${row.guarantorId}`);
    expect(guarantors.rows).toMatchObject([
      {
        firstName: 'Sub',
        lastName: 'Scriber',
        birthDate: '02/29/1980',
        sexCode: 'F',
        address: { state: 'NY', zip: '12999-0001' },
      },
    ]);
  });

  test('keeps fields that are not sent, and the event notes values that the EMR corrected', async () => {
    const { mrn } = patient(21);
    const before = await added(mrn, { group_id: 'G', copayment: 10, plan_begin_date: '2026-02-01' });
    await setFault(fixture.api, 'update_patient_insurance', 'correct_value', {
      field: 'groupNumber',
      value: 'G-9',
      reason: 'Groups start with G-.',
    });
    const { status, body } = await update(mrn, before.emr_insurance_id, { group_id: '9', copayment: 0 });
    expect(status, JSON.stringify(body)).toBe(200);
    const event = await fixture.api.untilEvent(body.job_id);
    expect(event).toMatchObject({ event_type: 'patient.insurance.updated' });
    expect(event.data).toStrictEqual({
      patient_insurance_id: body.patient_insurance_id,
      emr_insurance_id: before.emr_insurance_id,
      patient_mrn: mrn,
      member_id: 'M1',
      group_id: 'G-9',
      plan_begin_date: '2026-02-01',
      copayment: 0,
      audit_trail: [
        {
          field_label: 'Group number',
          before: 'G',
          after: '9',
          property: 'group_id',
          note: 'Groups start with G-. Saved: G-9.',
        },
        { field_label: 'Copayment', before: '10.00', after: '0.00', property: 'copayment' },
      ],
    });
  });

  test('is reported in full even if the response was lost', async () => {
    const { mrn } = patient(22);
    await setFault(fixture.api, 'add_patient_insurance', 'lose_answer');
    const data = await added(mrn, { member_id: 'LOST' });
    expect(data.audit_trail).toContainEqual(expect.objectContaining({ property: 'member_id', after: 'LOST' }));
    expect(data.plan_begin_date).toMatch(/^\d{4}-\d\d-\d\d$/);
    const { rows } = (await fixture.api.control('GET', '/control/patient-insurances?subscriberNumber=LOST')).body;
    expect(rows).toHaveLength(1);
  });

  test('an insurance of another patient is not updated', async () => {
    const other = await added(patient(23).mrn);
    const { body } = await update(patient(24).mrn, other.emr_insurance_id, { member_id: 'STOLEN' });
    const event = await fixture.api.untilEvent(body.job_id);
    expect(event).toMatchObject({
      event_type: 'patient.insurance.failed',
      data: {
        patient_insurance_id: body.patient_insurance_id,
        patient_mrn: patient(24).mrn,
        error: `Insurance with EMR ID '${other.emr_insurance_id}' not found for this patient.`,
      },
    });
    expect(await insuranceInEmr(other.emr_insurance_id)).toMatchObject({ subscriberNumber: 'M1' });
  });

  test('is assigned to the company by id, by name and payer, or by name', async () => {
    const duplicates = companies.filter(
      (each) => companies.filter((other) => other.name === each.name && other.active).length > 1 && each.active,
    );
    const second = duplicates.find((each) => each.id !== duplicates[0].id && each.name === duplicates[0].name);
    expect(second).toBeDefined();
    const by_id = await added(patient(25).mrn, { insurance_provider_id: second.id, insurance_name: 'ignored' });
    expect(await insuranceInEmr(by_id.emr_insurance_id)).toMatchObject({ companyId: second.ehr_id });
    const by_payer = await added(patient(26).mrn, { insurance_name: second.name, insurance_payer_id: second.payer_id });
    expect(await insuranceInEmr(by_payer.emr_insurance_id)).toMatchObject({ payerId: second.payer_id });
    const by_name = await added(patient(27).mrn, { insurance_name: second.name.toUpperCase() });
    expect(await insuranceInEmr(by_name.emr_insurance_id)).toMatchObject({ companyName: second.name });
  });
});

test('an invalid request is rejected with the field name and stores nothing', async () => {
  const before = await countRows(fixture.owner);
  const { mrn } = patient(1);
  const good = { member_id: 'M', insurance_name: 'Mock Mutual' };
  const no_carrier = (await fixture.api.control('GET', '/control/insurance-companies')).body.rows.find(
    (row: { carrierId: string | null; activeFlag: string }) => row.carrierId === null && row.activeFlag === 'Y',
  );
  const rejected: [Record<string, unknown>, number, RegExp, string | undefined][] = [
    [{ insurance_name: 'Mock Mutual' }, 400, /Missing required field: member_id/, 'member_id'],
    [{ member_id: 'M' }, 400, /^One of insurance_provider_id or insurance_name is required\.$/, undefined],
    [{ member_id: 'M', insurance_payer_id: 'P' }, 400, /insurance_payer_id/, 'insurance_payer_id'],
    [{ ...good, insurance_name: 'Nobody' }, 404, /No insurance provider is named 'Nobody'/, 'insurance_name'],
    [{ ...good, insurance_provider_id: 'f'.repeat(32) }, 404, /Insurance provider with ID/, 'insurance_provider_id'],
    [{ ...good, priority: '4' }, 400, /priority/, 'priority'],
    [{ ...good, plan_begin_date: '2026-02-30' }, 400, /plan_begin_date/, 'plan_begin_date'],
    [{ ...good, copayment: -1 }, 400, /copayment/, 'copayment'],
    [{ ...good, copayment: 1.234 }, 400, /copayment/, 'copayment'],
    [
      { ...good, relationship_to_subscriber: 'cousin' },
      400,
      /relationship_to_subscriber/,
      'relationship_to_subscriber',
    ],
    [
      { ...good, relationship_to_subscriber: '02' },
      400,
      /subscriber_demographics\.first_name/,
      'subscriber_demographics.first_name',
    ],
    [
      { ...good, subscriber_demographics: { zip: '129990001' } },
      400,
      /subscriber_demographics\.zip/,
      'subscriber_demographics.zip',
    ],
    [
      { ...good, subscriber_demographics: { age: '9' } },
      400,
      /subscriber_demographics\.age/,
      'subscriber_demographics.age',
    ],
  ];
  for (const [body, status, message, field] of rejected) expectApiError(await add(mrn, body), status, message, field);
  expectApiError(await update(mrn, '1', {}), 400, /At least one field/);
  const insurance_provider_id = companies.find(({ ehr_id }) => ehr_id === no_carrier.companyId).id;
  expectApiError(await update(mrn, '1', { insurance_provider_id }), 400, /has no carrier ID/, 'insurance_provider_id');
  expectApiError(
    await update(mrn, '1', { subscriber_demographics: { city: 'X' } }),
    400,
    /first_name/,
    'subscriber_demographics.first_name',
  );
  expect(await countRows(fixture.owner)).toStrictEqual(before);
});
