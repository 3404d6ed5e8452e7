import { beforeAll, beforeEach, expect, test } from 'vitest';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Charts, createCharts, type Row } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
let fhir: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
  fhir = createCharts(fixture, (await fhirAccount(fixture)).api);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const onlyRestricted = (field: string, value: unknown) =>
  charts.rejects(400, `Field '${field}' is only supported for Larkspur EMR.`, [() => fhir.create({ [field]: value })]);
const rejectsValues = (field: string, values: unknown[]) =>
  charts.rejects(
    400,
    new RegExp(field),
    values.map((value) => () => charts.create({ [field]: value })),
  );
/** One of Larkspur's code lists. */
const readList = (list: string): Promise<Row[]> => charts.rows('codes', { list });

/** An unknown value is accepted; the job then fails and lists the known values. */
async function failsUnknown(list: string, value: string): Promise<void> {
  const { event_type, data } = await charts.outcome(await charts.create({ [list]: value }));
  expect(event_type).toBe('patient.failed');
  for (const { name } of await readList(list)) expect(data.failure_reason).toContain(name);
}
/** Every name of the list is accepted and saved as its code. */
async function acceptsNames(list: string): Promise<void> {
  const known = await readList(list);
  expect(known.length).toBeGreaterThan(2);
  await Promise.all(
    known.map(async ({ code, name }) => {
      expect((await charts.created({ [list]: name })).chart[`${list}Code`]).toBe(code);
    }),
  );
}

test(row('PAT-27'), async () => {
  await acceptsNames('language');
  await failsUnknown('language', 'Klingon');
  await onlyRestricted('language', 'English');
});

test(row('PAT-28'), async () => {
  await acceptsNames('race');
  await failsUnknown('race', 'Martian');
  await onlyRestricted('race', 'Asian');
});

test(row('PAT-29'), async () => {
  await acceptsNames('ethnicity');
  for (const { code } of await readList('ethnicity')) {
    expect((await charts.created({ ethnicity: code })).chart.ethnicityCode).toBe(code);
  }
  await failsUnknown('ethnicity', 'Z');
  await failsUnknown('ethnicity', 'Somewhere else');
  await onlyRestricted('ethnicity', 'H');
});

/** A boolean that is true by default. */
async function checkDefaultTrue(field: string, flag: string): Promise<void> {
  expect((await charts.created()).chart[flag]).toBe('Y');
  expect((await charts.created({ [field]: true })).chart[flag]).toBe('Y');
  expect((await charts.created({ [field]: false })).chart[flag]).toBe('N');
  await rejectsValues(field, ['true', 'false', 'Y', 1, 0]);
  await onlyRestricted(field, true);
}

test(row('PAT-30'), async () => {
  await checkDefaultTrue('release_of_info', 'releaseOfInfoFlag');
});

test(row('PAT-31'), async () => {
  await checkDefaultTrue('rx_history_consent', 'rxConsentFlag');
});

const insured = { insurance_name: 'Demo Medicare' };
const selfPay = async (fields: object) => (await charts.created({ ...fields })).chart.selfPayFlag;

test(row('PAT-32'), async () => {
  expect([await selfPay({ ...insured, self_pay: true }), await selfPay(insured)]).toStrictEqual(['Y', 'N']);
  expect([await selfPay({ self_pay: false }), await selfPay({})]).toStrictEqual(['N', 'Y']);
  await rejectsValues('self_pay', ['true', 'false', 'Y', 1, 0]);
  await onlyRestricted('self_pay', true);
});

test(row('PAT-33'), async () => {
  const { locations } = (await fixture.api.call('GET', '/v1/locations')).body;
  for (const { ehr_id } of locations) {
    expect((await charts.created({ default_facility_id: ehr_id })).chart.defaultFacilityId).toBe(ehr_id);
  }
  await charts.rejects(404, /^Location with EMR ID '.*' not found\.$/, [
    () => charts.create({ default_facility_id: locations[0].id }),
    () => charts.create({ default_facility_id: '99' }),
  ]);
  await rejectsValues('default_facility_id', [11, true, ['11']]);
  await onlyRestricted('default_facility_id', locations[0].ehr_id);
});

test(row('DEC-146'), async () => {
  for (const list of ['language', 'race', 'ethnicity']) {
    const response = await charts.create({ [list]: 'Unheard of' });
    expect(response.status).toBe(200);
    const { event_type, data } = await charts.outcome(response);
    expect(event_type).toBe('patient.failed');
    const { status, error } = await fixture.api.job(response.body.job_id);
    expect(status).toBe('failed');
    for (const { name } of await readList(list)) {
      expect(data.failure_reason).toContain(name);
      expect(error.message).toContain(name);
    }
    expect((await charts.listed(response.body.patient_id)).status).toBe('failed');
  }
});

test(row('DEC-147'), async () => {
  const { chart } = await charts.created({ ...insured, check_eligibility: 'true' });
  const { patientId } = chart;
  const [insurance] = await charts.insurances(chart);
  expect(await charts.rows('eligibility-checks', { patientId })).toMatchObject([
    { patientId, insuranceId: insurance.insuranceId, companyName: 'Demo Medicare' },
  ]);
  for (const fields of [{ check_eligibility: 'false' }, {}]) {
    const unchecked = await charts.created({ ...insured, ...fields });
    expect(await charts.rows('eligibility-checks', { patientId: unchecked.chart.patientId })).toStrictEqual([]);
  }
});

test(row('DEC-148'), async () => {
  for (const fields of [insured, {}]) {
    expect(await selfPay({ ...fields, self_pay: true })).toBe('Y');
    expect(await selfPay({ ...fields, self_pay: false })).toBe('N');
  }
});

test(row('DEC-149'), async () => {
  expect(await selfPay({})).toBe('Y');
  const [company] = (await fixture.api.call('GET', '/v1/insurance-providers')).body.insurance_providers;
  for (const fields of [
    insured,
    { insurance_name: 'Nowhere Health' },
    { insurance_provider_id: company.id },
    { secondary_insurance_name: 'Prototype PPO' },
    { ...insured, insurance_sequence: 'tertiary' },
  ]) {
    expect(await selfPay(fields), JSON.stringify(fields)).toBe('N');
  }
});
