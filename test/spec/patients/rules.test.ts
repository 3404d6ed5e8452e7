import { beforeAll, beforeEach, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { anotherPatient, type Charts, createCharts, type Fields } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const company = 'insurance_name or insurance_provider_id';

test(row('RUL-13'), async () => {
  const rule = `check_eligibility requires ${company}`;
  const failed = await charts.failed();
  await charts.rejects(400, rule, [
    () => charts.create({ check_eligibility: 'true' }),
    () => charts.create({ check_eligibility: 'true', insurance_name: ' ' }),
    () => charts.create({ check_eligibility: 'true', self_pay: true }),
    () => charts.patch(failed.id, { check_eligibility: 'true' }),
  ]);
  const insured = await charts.created({ check_eligibility: 'true', secondary_insurance_name: 'Prototype PPO' });
  expect(await charts.rows('eligibility-checks', { patientId: insured.chart.patientId })).toHaveLength(1);
  await charts.created({ check_eligibility: 'false' });
});

test(row('RUL-14'), async () => {
  const rule = `insurance_sequence requires ${company}`;
  const failed = await charts.failed();
  for (const insurance_sequence of ['primary', 'secondary', 'tertiary']) {
    await charts.rejects(400, rule, [
      () => charts.create({ insurance_sequence }),
      () => charts.create({ insurance_sequence, secondary_insurance_name: 'Prototype PPO' }),
      () => charts.patch(failed.id, { insurance_sequence }),
    ]);
  }
  const { chart } = await charts.created({ insurance_sequence: 'tertiary', insurance_name: 'Demo Medicare' });
  expect(await charts.insurances(chart)).toMatchObject([{ priority: 3 }]);
});

const own = { first_name: 'Nóra', sex: 'female', dob: '1990-05-14', cell_phone: '518-555-0150' };
const payer = {
  responsible_party_first_name: 'Pay',
  responsible_party_last_name: 'Master',
  responsible_party_sex: 'male',
  responsible_party_dob: '1960-02-29',
  responsible_party_phone: '518-555-0134',
};

test(row('RUL-15'), async () => {
  const failed = await charts.failed(own);
  for (const [field, value] of Object.entries(payer)) {
    const rule = `${field} is not the patient’s, but responsible_party is self. Send who the responsible party is`;
    await charts.rejects(400, rule, [
      () => charts.create({ ...own, [field]: value }),
      () => charts.create({ ...own, responsible_party: 'self', [field]: value }),
      () => charts.patch(failed.id, { responsible_party: 'self', [field]: value }),
    ]);
  }
  const same: Fields = {
    responsible_party: 'self',
    responsible_party_first_name: 'NORA',
    responsible_party_last_name: 'own',
    responsible_party_sex: 'female',
    responsible_party_dob: '1990-05-14',
    responsible_party_phone: '(518) 555-0150',
  };
  const { chart } = await charts.created({ ...own, last_name: 'Own', ...same });
  expect(await charts.guarantors(chart)).toStrictEqual([]);
});

test('a PATCH that makes the patient the responsible party drops the other person', async () => {
  for (const self of ['self', null]) {
    const failed = await charts.failed({ ...own, responsible_party: 'parent', ...payer });
    const event = await charts.outcome(await charts.patch(failed.id, { responsible_party: self }));
    expect(event.event_type, JSON.stringify(event.data)).toBe('patient.created');
    const chart = await charts.chart(event.data.mrn);
    expect(chart).toMatchObject({ responsiblePartyCode: '1', responsibleGuarantorId: null });
  }
});

test('the patient’s own name, sent for the responsible party too, does not prevent a correction of the name', async () => {
  const failed = await charts.failed({ first_name: 'Jon', responsible_party_first_name: 'Jon' });
  const event = await charts.outcome(await charts.patch(failed.id, { first_name: 'John' }));
  expect((await charts.chart(event.data.mrn)).firstName).toBe('John');
});

test(row('RUL-16'), async () => {
  const failed = await charts.failed();
  const { mrn } = anotherPatient();
  const { data } = await charts.added(mrn, spouse('1880-01-01'));
  const later = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  for (const [dob, rule] of [
    ['1879-12-31', 'must not be before 1880-01-01'],
    ['0001-01-01', 'must not be before 1880-01-01'],
    ['0001-01-01T00:00:00', 'must not be before 1880-01-01'],
    [later, 'must not be in the future'],
    ['9999-12-31', 'must not be in the future'],
  ] as const) {
    await charts.rejects(400, `dob ${rule}`, [
      () => charts.create({ dob }),
      () => charts.patch(failed.id, { dob }),
      () => fixture.api.call('POST', '/v1/patients/fetch', { body: { search_by: 'dob', dob } }),
    ]);
    await charts.rejects(400, `responsible_party_dob ${rule}`, [
      () => charts.create({ responsible_party: 'parent', ...payer, responsible_party_dob: dob }),
    ]);
    await charts.rejects(400, `subscriber_demographics.dob ${rule}`, [
      () => charts.add(mrn, { member_id: 'M', insurance_name: 'Mock Mutual', ...spouse(dob) }),
      () => charts.change(mrn, data.emr_insurance_id, spouse(dob)),
    ]);
  }
  expect((await charts.created({ dob: '1880-01-01' })).chart.birthDate).toBe('01/01/1880');
  for (const dob of ['01/02/1870', '1870', '1870-1-2', '1870-02-30T']) {
    const response = await charts.create({ dob });
    expectApiError(response, 400, 'dob must be a date that exists, in the form YYYY-MM-DD', 'dob');
  }
  // A filter looks for what the EMR has, which may be a placeholder.
  const listed = await fixture.api.call('GET', '/v1/patients?dob=1800-01-01');
  expect([listed.status, listed.body.patients]).toStrictEqual([200, []]);
});

function spouse(dob: string): Fields {
  const subscriber_demographics = { first_name: 'Sub', last_name: 'Scriber', dob };
  return { relationship_to_subscriber: 'spouse', subscriber_demographics };
}
