import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { type Receiver, startReceiver } from '../../harness/servers/receiver.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { setFault, until } from '../../journeys/support.ts';
import { type Charts, createCharts, type Fields, anotherPatient as next, type Row } from '../patients/charts.ts';

let fixture: TestSandbox;
let charts: Charts;
let receiver: Receiver;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
  receiver = await startReceiver();
  await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
});
afterAll(async () => {
  await receiver.close();
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const good = { member_id: 'M-1', insurance_name: 'Mock Mutual' };
const full = { ...good, group_id: 'G-1', plan_begin_date: '2026-01-31', copayment: 12.5, priority: '3' };

/** Sends a request and returns its webhook event. */
async function sendAndReceive(mrn: string, fields: Fields, of?: string): Promise<{ body: Row; event: Row }> {
  const { status, body } = await (of === undefined ? charts.add(mrn, fields) : charts.change(mrn, of, fields));
  expect(status, JSON.stringify(body)).toBe(200);
  const { id } = await fixture.api.untilEvent(body.job_id);
  const calls = () => receiver.received.map((each) => JSON.parse(each.body));
  const event = await until('the webhook', async () => calls().find((each) => each.id === id));
  expect(calls().filter((each) => each.job_id === String(body.job_id))).toHaveLength(1);
  return { body, event };
}
/** Adds an insurance to a patient that no other test uses. */
async function insured(fields: Fields = {}): Promise<{ mrn: string; id: string; row: Row }> {
  const { mrn } = next();
  const { data, row } = await charts.added(mrn, { ...full, ...fields });
  return { mrn, id: data.emr_insurance_id, row };
}
const refused = (operation: string) => setFault(fixture.api, operation, 'refuse', { reason: 'The plan has ended.' });
/** Makes Larkspur change the group number when it saves. */
const corrects = (operation: string) =>
  setFault(fixture.api, operation, 'correct_value', {
    field: 'groupNumber',
    value: 'G-9',
    reason: 'Groups begin with G-.',
  });
const entry = { field_label: expect.stringMatching(/\S/), property: expect.stringMatching(/^[a-z_.0-9]+$/) };

test(row('EVT-19'), async () => {
  const { mrn, ehr_id } = next();
  const { event } = await sendAndReceive(mrn, { ...good, member_id: 'M-EVT-19' });
  expect(event.type).toBe('patient.insurance.added');
  const rows = await charts.rows('patient-insurances', { patientId: ehr_id, subscriberNumber: 'M-EVT-19' });
  expect(rows.map((row) => row.insuranceId)).toStrictEqual([event.data.emr_insurance_id]);
});

test(row('EVT-20'), async () => {
  const { mrn } = next();
  const { body, event } = await sendAndReceive(mrn, full);
  const [row] = await charts.rows('patient-insurances', { insuranceId: event.data.emr_insurance_id });
  expect(row).toMatchObject({ subscriberNumber: 'M-1', groupNumber: 'G-1', planBegins: '01/31/2026' });
  expect(event.data).toStrictEqual({
    patient_insurance_id: body.patient_insurance_id,
    emr_insurance_id: row.insuranceId,
    patient_mrn: mrn,
    member_id: 'M-1',
    group_id: 'G-1',
    plan_begin_date: '2026-01-31',
    copayment: 12.5,
    audit_trail: expect.any(Array),
  });
});

test(row('EVT-21'), async () => {
  const { mrn, id } = await insured();
  const { event: added } = await sendAndReceive(next().mrn, full);
  const { event: updated } = await sendAndReceive(mrn, { member_id: 'M-2', copayment: 0 }, id);
  const patient = await charts.created({ phone: '518-555-0100' });
  const changed = await charts.outcome(await charts.patch(patient.id, { phone: '518-555-0121' }));
  for (const { data } of [added, updated, changed]) {
    expect(data.audit_trail.length).toBeGreaterThan(0);
    for (const each of data.audit_trail) {
      expect(each).toMatchObject(entry);
      for (const side of [each.before, each.after]) expect(side === null || typeof side === 'string').toBe(true);
    }
  }
  const phone = changed.data.audit_trail[0];
  expect(phone).toMatchObject({ before: '518-555-0100', after: '518-555-0121', property: 'phone' });
});

test(row('EVT-22'), async () => {
  const { mrn, id } = await insured();
  const { event } = await sendAndReceive(mrn, { member_id: 'M-EVT-22' }, id);
  expect(event.type).toBe('patient.insurance.updated');
  expect(event.data.emr_insurance_id).toBe(id);
  expect((await charts.insurance(id)).subscriberNumber).toBe('M-EVT-22');
});

test(row('EVT-23'), async () => {
  const { mrn } = next();
  await refused('add_patient_insurance');
  for (const [target, error] of [
    [mrn, 'The plan has ended.'],
    ['LK999999', expect.stringContaining('LK999999')],
  ]) {
    const { body, event } = await sendAndReceive(target, good);
    expect(event.type).toBe('patient.insurance.failed');
    const { patient_insurance_id } = body;
    expect(event.data).toStrictEqual({ patient_insurance_id, patient_mrn: target, error });
  }
});

test(row('EVT-24'), async () => {
  const { mrn, id, row } = await insured();
  await refused('update_patient_insurance');
  for (const [target, error] of [
    [id, 'The plan has ended.'],
    ['99999999', expect.stringContaining('99999999')],
  ]) {
    const { body, event } = await sendAndReceive(mrn, { member_id: 'M-2' }, target);
    expect(event.type).toBe('patient.insurance.failed');
    const { patient_insurance_id } = body;
    expect(event.data).toStrictEqual({ patient_insurance_id, patient_mrn: mrn, error });
  }
  expect(await charts.insurance(id)).toStrictEqual(row);
});

test(row('EVT-32'), async () => {
  const { mrn, id } = await insured({ priority: '1' });
  const subscriber_demographics = {
    ...{ first_name: 'A', last_name: 'B', street_line_1: '3 C Street', city: 'D', state: 'NY', zip: '12999' },
    ...{ sex: 'male', dob: '1970-01-31', phone: '518-555-0132' },
  };
  const subscriber = { relationship_to_subscriber: 'spouse', subscriber_demographics };
  const { event } = await sendAndReceive(
    mrn,
    { ...good, member_id: 'M-2', group_id: 'G-2', copayment: 1, ...subscriber },
    id,
  );
  const modified = (data: Row) => data.audit_trail.map(({ property }: Row) => property).sort();
  expect(modified(event.data)).toStrictEqual(
    [
      ...['member_id', 'group_id', 'copayment', 'relationship_to_subscriber', 'guarantor_id'],
      ...['is_guarantor_patient', 'guarantor_relationship'],
      ...Object.keys(subscriber_demographics).map((name) => `subscriber_demographics.${name}`),
    ].sort(),
  );
  const { event: added } = await sendAndReceive(next().mrn, full);
  expect(modified(added.data)).toStrictEqual(
    [
      ...['member_id', 'group_id', 'plan_begin_date', 'copayment', 'priority'],
      ...['insurance_ehr_id', 'insurance_name', 'insurance_payer_id', 'is_guarantor_patient'],
    ].sort(),
  );
  const patient = await charts.created({ address_city: 'Oldton', email: 'old@example.test', phone: '518-555-0100' });
  const changes = { address_city: 'Newton', email: 'new@example.test', phone: '518-555-0100' };
  const changed = await charts.outcome(await charts.patch(patient.id, changes));
  expect(modified(changed.data)).toStrictEqual(['address_city', 'email']);
});

test(row('EVT-33'), async () => {
  await corrects('add_patient_insurance');
  const { event: added } = await sendAndReceive(next().mrn, { ...full, group_id: '9' });
  const { mrn, id } = await insured();
  await corrects('update_patient_insurance');
  const { event: updated } = await sendAndReceive(mrn, { group_id: '9' }, id);
  for (const { data } of [added, updated]) {
    expect((await charts.insurance(data.emr_insurance_id)).groupNumber).toBe('G-9');
    const attempted = data.audit_trail.find(({ property }: Row) => property === 'group_id');
    expect(attempted.after).toBe('9');
    expect(attempted.note).toContain('Groups begin with G-.');
    expect(attempted.note).toContain('G-9');
    // The event also has the value that Larkspur saved.
    expect(data.group_id).toBe('G-9');
  }
  const patient = await charts.created();
  const email = { field: 'email', value: 'right@example.test', reason: 'The domain was misspelt.' };
  await setFault(fixture.api, 'update_patient', 'correct_value', email);
  const { data } = await charts.outcome(await charts.patch(patient.id, { email: 'rihgt@example.test' }));
  expect(data.audit_trail).toMatchObject([
    { property: 'email', after: 'rihgt@example.test', note: expect.stringContaining('The domain was misspelt.') },
  ]);
  expect((await charts.listed(patient.id)).email).toBe('right@example.test');
});

test(row('DEC-185'), async () => {
  const { mrn, id } = await insured();
  const { event } = await sendAndReceive(mrn, { group_id: 'G-2', plan_begin_date: '2026-03-01' }, id);
  expect(event.data.audit_trail).toStrictEqual([
    { ...entry, before: 'G-1', after: 'G-2', property: 'group_id' },
    { ...entry, before: '2026-01-31', after: '2026-03-01', property: 'plan_begin_date' },
  ]);
});

test(row('DEC-186'), async () => {
  const { mrn, id } = await insured();
  await corrects('update_patient_insurance');
  const { event } = await sendAndReceive(mrn, { member_id: 'M-2', group_id: '9', copayment: 1 }, id);
  const noted = (data: Row) => data.audit_trail.filter((each: Row) => 'note' in each);
  expect(event.data.audit_trail).toHaveLength(3);
  expect(noted(event.data).map(({ property }: Row) => property)).toStrictEqual(['group_id']);
  const { event: plain } = await sendAndReceive(mrn, { member_id: 'M-3', group_id: 'G-3' }, id);
  expect(noted(plain.data)).toStrictEqual([]);
});

test(row('DAT-04'), async () => {
  const { mrn } = next();
  // Everything that is optional is left out, and was not there before.
  const { event: added } = await sendAndReceive(mrn, good);
  const id = added.data.emr_insurance_id;
  const { event: updated } = await sendAndReceive(mrn, { member_id: 'M-DAT-04', copayment: null }, id);
  for (const { data } of [added, updated]) {
    expect(data.audit_trail.filter(({ before, after }: Row) => before === after)).toStrictEqual([]);
  }
  expect(updated.data.audit_trail).toMatchObject([{ property: 'member_id', after: 'M-DAT-04' }]);
});

test(row('DEC-187'), async () => {
  const { mrn, id } = await insured();
  for (const [operation, of] of [
    ['add_patient_insurance', undefined],
    ['update_patient_insurance', id],
  ] as const) {
    await refused(operation);
    const { body, event } = await sendAndReceive(mrn, good, of);
    const { patient_insurance_id } = body;
    expect(event.data).toStrictEqual({ patient_insurance_id, patient_mrn: mrn, error: 'The plan has ended.' });
  }
});

test(row('DEC-192'), async () => {
  const { mrn, id } = await insured();
  const { body } = await sendAndReceive(mrn, { member_id: 'M-2' }, id);
  expect(body).toStrictEqual({
    success: true,
    message: expect.any(String),
    patient_insurance_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
});

test(row('DEC-193'), async () => {
  const { mrn } = next();
  const { event: added } = await sendAndReceive(mrn, full);
  const { body, event } = await sendAndReceive(mrn, { member_id: 'M-2' }, added.data.emr_insurance_id);
  expect(Object.keys(event.data)).toStrictEqual(Object.keys(added.data));
  expect(event.data).toStrictEqual({
    ...added.data,
    patient_insurance_id: body.patient_insurance_id,
    member_id: 'M-2',
    audit_trail: [{ ...entry, before: 'M-1', after: 'M-2', property: 'member_id' }],
  });
});

test(row('DEC-194'), async () => {
  const { mrn, ehr_id } = next();
  const { event: added } = await sendAndReceive(mrn, { ...good, member_id: 'M-DEC-194' });
  const [row] = await charts.rows('patient-insurances', { patientId: ehr_id, subscriberNumber: 'M-DEC-194' });
  const { event: updated } = await sendAndReceive(mrn, { group_id: 'G-2' }, row.insuranceId);
  expect([added, updated].map(({ data }) => data.emr_insurance_id)).toStrictEqual([row.insuranceId, row.insuranceId]);
});

test('an insurance has one patient_insurance_id, in its addition and in all of its updates', async () => {
  const { mrn } = next();
  const { body: added, event } = await sendAndReceive(mrn, good);
  const of = event.data.emr_insurance_id;
  const responses = [
    added,
    ...(await Promise.all(['G-2', 'G-3'].map((group_id) => charts.change(mrn, of, { group_id })))).map(
      ({ body }) => body,
    ),
  ];
  const ids = responses.map(({ patient_insurance_id }) => patient_insurance_id);
  for (const { job_id } of responses) ids.push((await fixture.api.untilEvent(job_id)).data.patient_insurance_id);
  expect(new Set(ids)).toStrictEqual(new Set([added.patient_insurance_id]));
  // One that the service did not add gets an id with its first update.
  const clinic_id = '85001';
  const updates = [];
  for (const group_id of ['G-8', 'G-9']) updates.push((await charts.change('LK100001', clinic_id, { group_id })).body);
  expect(new Set(updates.map(({ patient_insurance_id }) => patient_insurance_id)).size).toBe(1);
});

test('an update that names the same subscriber keeps the record and what was not sent', async () => {
  const person = {
    ...{ first_name: 'Zoë', last_name: 'Payer', street_line_1: '3 C Street', city: 'D', state: 'NY', zip: '12999' },
    ...{ sex: 'male', dob: '1970-01-31', phone: '518-555-0132' },
  };
  const spouse = { relationship_to_subscriber: 'spouse', subscriber_demographics: person };
  const { mrn, id, row } = await insured(spouse);
  const names = { first_name: 'zoe', last_name: 'PAYER' };
  const { event } = await sendAndReceive(
    mrn,
    { subscriber_demographics: { ...names, phone: '518-555-0133', sex: 'female' } },
    id,
  );
  const changes = event.data.audit_trail.map(({ property, before, after }: Row) => [property, before, after]);
  expect(changes.sort()).toStrictEqual([
    ['subscriber_demographics.first_name', 'Zoë', 'zoe'],
    ['subscriber_demographics.last_name', 'Payer', 'PAYER'],
    ['subscriber_demographics.phone', '518-555-0132', '518-555-0133'],
    ['subscriber_demographics.sex', 'male', 'female'],
  ]);
  expect((await charts.insurance(id)).guarantorId).toBe(row.guarantorId);
  expect(await charts.rows('guarantors', { guarantorId: row.guarantorId })).toMatchObject([
    { birthDate: '01/31/1970', sexCode: 'F', phone: '518-555-0133', address: { line1: '3 C Street', zip: '12999' } },
  ]);
  // Another person is another record, without values of the first.
  await sendAndReceive(mrn, { subscriber_demographics: { first_name: 'Other', last_name: 'Payer' } }, id);
  const other = (await charts.insurance(id)).guarantorId;
  expect(other).not.toBe(row.guarantorId);
  expect(await charts.rows('guarantors', { guarantorId: other })).toMatchObject([{ birthDate: null, phone: null }]);
});

test('an audit trail has the values of the interface, not the codes of the EMR', async () => {
  const { mrn, id } = await insured();
  const subscriber_demographics = { first_name: 'A', last_name: 'B', sex: 'female', dob: '1970-01-31' };
  const spouse = { relationship_to_subscriber: 'spouse', subscriber_demographics };
  const { event } = await sendAndReceive(mrn, spouse, id);
  const after = Object.fromEntries(event.data.audit_trail.map((each: Row) => [each.property, each.after]));
  expect(after).toMatchObject({
    relationship_to_subscriber: '02',
    is_guarantor_patient: 'false',
    guarantor_relationship: 'spouse',
    'subscriber_demographics.sex': 'female',
    'subscriber_demographics.dob': '1970-01-31',
  });
  const doctor = async (last_name: string) =>
    (await fixture.api.call('GET', `/v1/referring-providers?last_name=${last_name}`)).body.referring_providers[0];
  const [one, two] = [await doctor('Outsidely'), await doctor('Consultson')];
  const patient = await charts.created({ referring_provider_id: one.id });
  const { data } = await charts.outcome(await charts.patch(patient.id, { referring_provider_id: two.id }));
  expect(data.audit_trail).toContainEqual({
    ...entry,
    property: 'referring_provider_id',
    before: one.id,
    after: two.id,
  });
});
