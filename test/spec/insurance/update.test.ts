import { beforeAll, beforeEach, expect, test } from 'vitest';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { patient, setFault } from '../../journeys/support.ts';
import { type Charts, createCharts, type Fields, anotherPatient as next, type Row } from '../patients/charts.ts';

let fixture: TestSandbox;
let charts: Charts;
let fhir: Charts;
let companies: Row[];
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
  fhir = createCharts(fixture, (await fhirAccount(fixture)).api);
  companies = (await fixture.api.call('GET', '/v1/insurance-providers')).body.insurance_providers;
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const payer = (payer_id: string): Row => companies.find((each) => each.payer_id === payer_id);
const person = { first_name: 'Sub', last_name: 'Scriber' };
const full = {
  member_id: 'OLD',
  group_id: 'OLD-G',
  insurance_name: 'Demo Medicare',
  plan_begin_date: '2025-01-31',
  copayment: 10,
  relationship_to_subscriber: 'spouse',
  subscriber_demographics: { ...person, dob: '1970-01-31' },
};
/** Adds an insurance to a patient that no other test uses. */
async function insured(fields: Fields = full): Promise<{ mrn: string; id: string; row: Row }> {
  const { mrn } = next();
  const { data, row } = await charts.added(mrn, fields);
  return { mrn, id: data.emr_insurance_id, row };
}
const rejectsValues = (field: string, values: unknown[]) =>
  charts.rejects(
    400,
    new RegExp(field),
    values.map((value) => () => charts.change(patient(1).mrn, '1', { [field]: value })),
  );
const strings_only = [5, true, ['text'], { text: 'text' }];
const names = ['self', 'spouse', 'mother', 'father', 'step parent', 'employee', 'life partner', 'other', 'child'];
const codes = ['01', '02', '32', '33', '17', '20', '53', '25', '19'];

test(row('INU-01'), async () => {
  const { mrn, id } = await insured();
  expect((await charts.changed(mrn, id, { member_id: 'HERE' })).row.subscriberNumber).toBe('HERE');
  await charts.rejects(400, 'This EMR does not offer insurance updates.', [
    () => fhir.change('MB100001', 'cov-1', { member_id: 'ELSEWHERE' }),
  ]);
  expect((await charts.insurance(id)).subscriberNumber).toBe('HERE');
});

test(row('INU-02'), async () => {
  const { mrn, row } = await insured({ ...full, member_id: 'FETCHED' });
  const fetched = await charts.outcome(
    await fixture.api.call('POST', '/v1/patients/fetch', { body: { search_by: 'mrn', mrn, include: 'insurances' } }),
  );
  const insurance = fetched.data.insurances.find((each: Row) => each.insurance_subscriber_number === 'FETCHED');
  const changed = await charts.changed(mrn, insurance.emr_insurance_id, { member_id: 'FOUND' });
  expect(changed.row).toStrictEqual({ ...row, subscriberNumber: 'FOUND' });
  const other = await charts.outcome(await charts.change(next().mrn, insurance.emr_insurance_id, { member_id: 'X' }));
  expect(other.event_type).toBe('patient.insurance.failed');
  expect((await charts.insurance(insurance.emr_insurance_id)).subscriberNumber).toBe('FOUND');
});

test(row('INU-03'), async () => {
  const { mrn } = next();
  const { data } = await charts.added(mrn);
  const event = await charts.outcome(await charts.change(mrn, data.emr_insurance_id, { member_id: 'THIRD' }));
  expect(event.event_type).toBe('patient.insurance.updated');
  expect((await charts.insurance(data.emr_insurance_id)).subscriberNumber).toBe('THIRD');
});

test(row('INU-04'), async () => {
  const { mrn, id } = await insured();
  const first = await charts.changed(mrn, id, { member_id: 'FIRST' });
  await charts.changed(mrn, first.data.emr_insurance_id, { group_id: 'SECOND' });
  expect(await charts.insurance(id)).toMatchObject({ subscriberNumber: 'FIRST', groupNumber: 'SECOND' });
});

test(row('INU-05'), async () => {
  const { mrn, id } = await insured();
  const each: [Fields, Fields][] = [
    [{ member_id: 'NEW' }, { subscriberNumber: 'NEW' }],
    [{ group_id: 'NEW-G' }, { groupNumber: 'NEW-G' }],
    [{ insurance_provider_id: payer('PLS01').id }, { companyId: payer('PLS01').ehr_id, payerId: 'PLS01' }],
    [{ insurance_name: 'Synthetic Blue' }, { companyId: payer('SYB01').ehr_id, companyName: 'Synthetic Blue' }],
    [{ insurance_name: 'Mock Mutual', insurance_payer_id: 'MOC02' }, { companyId: payer('MOC02').ehr_id }],
  ];
  for (const [fields, expected_row] of each)
    expect((await charts.changed(mrn, id, fields)).row).toMatchObject(expected_row);
  for (const field of ['member_id', 'group_id', 'insurance_provider_id', 'insurance_name', 'insurance_payer_id']) {
    await rejectsValues(field, strings_only);
  }
});

test(row('INU-06'), async () => {
  const { mrn, id } = await insured();
  expect((await charts.changed(mrn, id, { member_id: 'NEW' })).row.planBegins).toBe('01/31/2025');
  expect((await charts.changed(mrn, id, { plan_begin_date: '2024-02-29' })).row.planBegins).toBe('02/29/2024');
  await rejectsValues('plan_begin_date', ['02/29/2024', '2024-2-29', '20240229', '2023-02-29']);
});

test(row('INU-07'), async () => {
  const { mrn, id } = await insured();
  expect((await charts.changed(mrn, id, { member_id: 'NEW' })).row.copayment).toBe('10.00');
  for (const copayment of [12.5, 0.01, 0]) {
    expect((await charts.changed(mrn, id, { copayment })).row.copayment).toBe(copayment.toFixed(2));
  }
  await rejectsValues('copayment', [-0.01, -1, '10', true]);
});

test(row('INU-08'), async () => {
  const { mrn, id } = await insured();
  const other = await insured();
  const move = async (at: { mrn: string; id: string }, values: string[]) => {
    for (const [n, relationship_to_subscriber] of values.entries()) {
      const subscriber = n === 0 ? {} : { subscriber_demographics: person };
      const { row } = await charts.changed(at.mrn, at.id, { relationship_to_subscriber, ...subscriber });
      expect(row.relationshipCode).toBe(codes[n]);
    }
  };
  await Promise.all([move({ mrn, id }, codes), move(other, names)]);
  const subscriber_demographics = {
    ...{ first_name: 'New', last_name: 'Holder', street_line_1: '8 Other Street', city: 'Exampleton' },
    ...{ state: 'vt', zip: '05001', sex: 'female', dob: '1980-02-29', phone: '518-555-0108' },
  };
  const { row } = await charts.changed(mrn, id, { relationship_to_subscriber: 'mother', subscriber_demographics });
  expect(await charts.rows('guarantors', { guarantorId: row.guarantorId })).toMatchObject([
    {
      ...{ firstName: 'New', lastName: 'Holder', sexCode: 'F', birthDate: '02/29/1980', phone: '518-555-0108' },
      address: { line1: '8 Other Street', city: 'Exampleton', state: 'VT', zip: '05001' },
    },
  ]);
  const expected_row = await charts.changed(mrn, id, { member_id: 'NEW' });
  expect(expected_row.row).toStrictEqual({ ...row, subscriberNumber: 'NEW' });
  await rejectsValues('relationship_to_subscriber', ['cousin', '99', 'step-parent']);
  await rejectsValues('subscriber_demographics', [
    'Sub',
    [person],
    { ...person, zip: '129990001' },
    { ...person, state: 'ZZ' },
  ]);
});

test(row('INU-09'), async () => {
  const { mrn, id, row } = await insured();
  const changes: [Fields, Fields][] = [
    [{ member_id: 'NEW' }, { subscriberNumber: 'NEW' }],
    [{ group_id: 'NEW-G' }, { groupNumber: 'NEW-G' }],
    [{ plan_begin_date: '2026-03-01' }, { planBegins: '03/01/2026' }],
    [{ copayment: 0 }, { copayment: '0.00' }],
    [
      { insurance_name: 'Prototype HMO' },
      { companyId: payer('PPH01').ehr_id, companyName: 'Prototype HMO', payerId: 'PPH01' },
    ],
  ];
  let expected = row;
  for (const [fields, expected_row] of changes) {
    expected = { ...expected, ...expected_row };
    expect((await charts.changed(mrn, id, fields)).row).toStrictEqual(expected);
  }
  const subscriber = await charts.changed(mrn, id, {
    subscriber_demographics: { first_name: 'New', last_name: 'Spouse' },
  });
  expect(subscriber.row).toStrictEqual({ ...expected, guarantorId: subscriber.row.guarantorId });
  // The relationship was not sent, so the new subscriber is still the patient's spouse.
  const [before] = await charts.rows('guarantors', { guarantorId: row.guarantorId });
  expect(await charts.rows('guarantors', { guarantorId: subscriber.row.guarantorId })).toMatchObject([
    { firstName: 'New', lastName: 'Spouse', relationshipCode: before.relationshipCode },
  ]);
});

test(row('INU-10'), async () => {
  const { mrn, id } = await insured();
  const name_and_payer = { insurance_name: 'Mock Mutual', insurance_payer_id: 'MOC02' };
  expect((await charts.changed(mrn, id, name_and_payer)).row.payerId).toBe('MOC02');
  await charts.rejects(400, /insurance_payer_id.*insurance_name/, [
    () => charts.change(mrn, id, { insurance_payer_id: 'MOC01' }),
    () => charts.change(mrn, id, { insurance_payer_id: 'MOC01', insurance_provider_id: payer('MOC01').id }),
    () => charts.change(mrn, id, { insurance_payer_id: 'MOC01', member_id: 'NEW' }),
  ]);
});

test(row('INU-11'), async () => {
  const { mrn, id } = await insured();
  const company = async (fields: Fields) => (await charts.changed(mrn, id, fields)).row.companyId;
  const named = { insurance_name: 'Mock Mutual', insurance_payer_id: 'MOC02' };
  expect(await company({ ...named, insurance_provider_id: payer('SHP02').id })).toBe(payer('SHP02').ehr_id);
  expect(await company(named)).toBe(payer('MOC02').ehr_id);
  const by_name = await company({ insurance_name: 'sample health plan' });
  expect([payer('SHP01').ehr_id, payer('SHP02').ehr_id]).toContain(by_name);
  await charts.rejects(404, /[Ii]nsurance provider/, [
    () => charts.change(mrn, id, { insurance_provider_id: 'f'.repeat(32), ...named }),
    () => charts.change(mrn, id, { insurance_name: 'Mock Mutual', insurance_payer_id: 'PLS01' }),
    () => charts.change(mrn, id, { insurance_name: 'Nobody Insures' }),
  ]);
  expect((await charts.insurance(id)).companyId).toBe(by_name);
});

/** Tries to change the carrier to each company without a carrier id, by id and by name. */
async function refusesCarriers(): Promise<void> {
  const { mrn, id, row } = await insured();
  const known = await charts.rows('insurance-companies', { activeFlag: 'Y' });
  const unbilled = known.filter(({ carrierId }) => carrierId === null);
  expect(unbilled).toHaveLength(3);
  for (const { companyId, name, payerId } of unbilled) {
    const insurance_provider_id = companies.find(({ ehr_id }) => ehr_id === companyId).id;
    await charts.rejects(400, /carrier ID/, [
      () => charts.change(mrn, id, { insurance_provider_id }),
      () => charts.change(mrn, id, { insurance_name: name, insurance_payer_id: payerId, member_id: 'NEW' }),
    ]);
  }
  expect(await charts.insurance(id)).toStrictEqual(row);
}

test(row('INU-12'), async () => {
  await refusesCarriers();
  const { mrn, id } = await insured();
  expect((await charts.changed(mrn, id, { insurance_name: 'Placebo Shield' })).row.payerId).toBe('PLS01');
});

test(row('DEC-191'), async () => {
  await refusesCarriers();
});

test(row('INU-13'), async () => {
  const { mrn, id } = await insured();
  const incomplete: Fields[] = [{}, { first_name: 'Sub' }, { last_name: 'Scriber' }, { ...person, first_name: '' }];
  for (const values of [{}, { relationship_to_subscriber: 'self' }, { relationship_to_subscriber: '02' }]) {
    await charts.rejects(
      400,
      /subscriber_demographics\.(first|last)_name/,
      incomplete.map((subscriber_demographics) => () => charts.change(mrn, id, { ...values, subscriber_demographics })),
    );
  }
  const { row } = await charts.changed(mrn, id, {
    subscriber_demographics: { first_name: 'Both', last_name: 'Names' },
  });
  expect(await charts.rows('guarantors', { guarantorId: row.guarantorId })).toMatchObject([
    { firstName: 'Both', lastName: 'Names' },
  ]);
});

test(row('INU-14'), async () => {
  const { mrn, id, row } = await insured();
  for (const relationship_to_subscriber of [...codes.slice(1), ...names.slice(1)]) {
    await charts.rejects(400, /subscriber_demographics\.first_name/, [
      () => charts.change(mrn, id, { relationship_to_subscriber }),
      () => charts.change(mrn, id, { relationship_to_subscriber, subscriber_demographics: { last_name: 'S' } }),
    ]);
    await charts.rejects(400, /subscriber_demographics\.last_name/, [
      () => charts.change(mrn, id, { relationship_to_subscriber, subscriber_demographics: { first_name: 'S' } }),
    ]);
  }
  expect(await charts.insurance(id)).toStrictEqual(row);
  for (const relationship_to_subscriber of ['01', 'self']) {
    const self = await charts.changed(mrn, id, { relationship_to_subscriber });
    expect(self.row).toMatchObject({ relationshipCode: '01', guarantorId: null });
  }
});

test(row('INU-15'), async () => {
  const { mrn, id } = await insured();
  const done = await charts.outcome(await charts.change(mrn, id, { member_id: 'KEPT' }));
  expect(done.event_type).toBe('patient.insurance.updated');
  await setFault(fixture.api, 'update_patient_insurance', 'refuse', { reason: 'The plan has ended.' });
  const refused = await charts.outcome(await charts.change(mrn, id, { member_id: 'REFUSED' }));
  expect(refused.event_type).toBe('patient.insurance.failed');
  expect((await charts.insurance(id)).subscriberNumber).toBe('KEPT');
});

test(row('RUL-12'), async () => {
  const { mrn, id, row } = await insured();
  const rule =
    'subscriber_demographics cannot be cleared alone. Send relationship_to_subscriber self to make the patient the subscriber';
  await charts.rejects(400, rule, [
    () => charts.change(mrn, id, { subscriber_demographics: null }),
    () => charts.change(mrn, id, { subscriber_demographics: null, group_id: 'G' }),
  ]);
  await charts.rejects(400, 'Missing required field: subscriber_demographics.first_name', [
    () => charts.change(mrn, id, { subscriber_demographics: null, relationship_to_subscriber: 'spouse' }),
  ]);
  expect(await charts.insurance(id)).toStrictEqual(row);
  expect(row).toMatchObject({ relationshipCode: '02', guarantorId: expect.any(String) });
  const self = { subscriber_demographics: null, relationship_to_subscriber: 'self' };
  expect((await charts.changed(mrn, id, self)).row).toMatchObject({ relationshipCode: '01', guarantorId: null });
});
