import { beforeAll, beforeEach, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { patient, setFault } from '../../journeys/support.ts';
import { type Charts, createCharts, type Fields, anotherPatient as next, type Row } from '../patients/charts.ts';

let fixture: TestSandbox;
let charts: Charts;
let companies: Row[];
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
  companies = (await fixture.api.call('GET', '/v1/insurance-providers')).body.insurance_providers;
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const payer = (payer_id: string): Row => companies.find((each) => each.payer_id === payer_id);
const good = { member_id: 'M-1', insurance_name: 'Mock Mutual' };
const rejectsValues = (field: string, values: unknown[], extra: Fields = {}) =>
  charts.rejects(
    400,
    new RegExp(field),
    values.map((value) => () => charts.add(patient(1).mrn, { ...good, ...extra, [field]: value })),
  );
const strings_only = [5, true, ['text'], { text: 'text' }];

test(row('INS-01'), async () => {
  const { mrn, ehr_id } = next();
  const before = await charts.rows('patient-insurances');
  const { row } = await charts.added(mrn, { member_id: 'M-INS-01' });
  expect(row).toMatchObject({ patientId: ehr_id, subscriberNumber: 'M-INS-01' });
  const after = await charts.rows('patient-insurances');
  expect(after.filter(({ insuranceId }) => insuranceId !== row.insuranceId)).toStrictEqual(before);
  const elsewhere = await charts.outcome(await charts.add(ehr_id, good));
  expect(elsewhere.event_type).toBe('patient.insurance.failed');
});

test(row('INS-02'), async () => {
  const { row } = await charts.added(next().mrn, { member_id: 'POLICY-2' });
  expect(row.subscriberNumber).toBe('POLICY-2');
  const { member_id: _left, ...rest } = good;
  await charts.rejects(400, 'Missing required field: member_id', [
    () => charts.add(patient(1).mrn, rest),
    () => charts.add(patient(1).mrn, { ...rest, member_id: '' }),
    () => charts.add(patient(1).mrn, { ...rest, member_id: null }),
  ]);
  await rejectsValues('member_id', strings_only);
});

test(row('INS-03'), async () => {
  const { row, data } = await charts.added(next().mrn, { group_id: 'GROUP-3' });
  expect([row.groupNumber, data.group_id]).toStrictEqual(['GROUP-3', 'GROUP-3']);
  expect((await charts.added(next().mrn)).row.groupNumber).toBeNull();
  await rejectsValues('group_id', strings_only);
});

test(row('INS-04'), async () => {
  const company = payer('PLS01');
  const { insurance_name: _named, ...unnamed } = good;
  const event = await charts.outcome(await charts.add(next().mrn, { ...unnamed, insurance_provider_id: company.id }));
  expect((await charts.insurance(event.data.emr_insurance_id)).companyId).toBe(company.ehr_id);
  expect((await charts.added(next().mrn)).row.companyName).toBe('Mock Mutual');
  await rejectsValues('insurance_provider_id', strings_only);
});

test(row('INS-05'), async () => {
  expect((await charts.added(next().mrn, { insurance_name: 'Prototype PPO' })).row).toMatchObject({
    companyId: payer('PPP01').ehr_id,
    companyName: 'Prototype PPO',
  });
  await charts.outcome(await charts.add(next().mrn, { member_id: 'M', insurance_provider_id: payer('PLS01').id }));
  await rejectsValues('insurance_name', strings_only);
});

test(row('INS-06'), async () => {
  const { row } = await charts.added(next().mrn, { insurance_name: 'Placebo Shield', insurance_payer_id: 'PLS01' });
  expect(row).toMatchObject({ companyName: 'Placebo Shield', payerId: 'PLS01' });
  expect((await charts.added(next().mrn, { insurance_name: 'Placebo Shield' })).row.payerId).toBe('PLS01');
  await rejectsValues('insurance_payer_id', strings_only);
});

test(row('INS-07'), async () => {
  const fresh = await charts.created();
  for (const priority of ['3', '2', '1']) {
    expect((await charts.added(fresh.mrn, { priority, member_id: `P-${priority}` })).row.priority).toBe(
      Number(priority),
    );
  }
  // Larkspur shows the primary insurance with the patient.
  expect((await charts.chart(fresh.mrn)).primarySubscriberNumber).toBe('P-1');
  expect((await charts.added((await charts.created()).mrn)).row.priority).toEqual(expect.any(Number));
  await rejectsValues('priority', [1, 2, 3, 'primary', '01', '4']);
});

test(row('INS-08'), async () => {
  // By default Larkspur uses the lowest free priority, or the last one if none is free.
  const { mrn } = await charts.created({ insurance_name: 'Demo Medicare', insurance_sequence: 'secondary' });
  const ids_given = [];
  for (let n = 0; n < 3; n += 1) ids_given.push((await charts.added(mrn)).row.priority);
  expect(ids_given).toStrictEqual([1, 3, 3]);
});

test(row('INS-09'), async () => {
  const { row } = await charts.added(next().mrn, { plan_begin_date: '2024-02-29' });
  expect(row.planBegins).toBe('02/29/2024');
  expect((await charts.added(next().mrn)).row.planBegins).toMatch(/^\d\d\/\d\d\/\d{4}$/);
  const forms = ['02/29/2024', '2024-2-29', '20240229', '29-02-2024', '2023-02-29', 20240229];
  await rejectsValues('plan_begin_date', forms);
});

test(row('INS-10'), async () => {
  for (const [copayment, stored] of [
    [25, '25.00'],
    [25.5, '25.50'],
    [0.01, '0.01'],
  ]) {
    const { row, data } = await charts.added(next().mrn, { copayment });
    expect([row.copayment, data.copayment]).toStrictEqual([stored, copayment]);
  }
  expect((await charts.added(next().mrn)).row.copayment).toBeNull();
  await rejectsValues('copayment', ['25', '25.00', true, [25]]);
});

test(row('INS-13'), async () => {
  const { row } = await charts.added(next().mrn, {
    insurance_provider_id: payer('SHP02').id,
    insurance_name: 'Mock Mutual',
    insurance_payer_id: 'MOC01',
  });
  expect(row).toMatchObject({ companyId: payer('SHP02').ehr_id, payerId: 'SHP02' });
});

test(row('INS-14'), async () => {
  const by_name = await charts.added(next().mrn, { insurance_name: 'Sample Health Plan' });
  for (const insurance_payer_id of ['SHP01', 'SHP02', 'SHP03']) {
    const { row } = await charts.added(next().mrn, { insurance_name: 'Sample Health Plan', insurance_payer_id });
    expect(row).toMatchObject({ companyName: 'Sample Health Plan', payerId: insurance_payer_id });
    if (insurance_payer_id === 'SHP03') expect(row.companyId).not.toBe(by_name.row.companyId);
  }
});

test(row('INS-15'), async () => {
  expect(companies.filter(({ name }) => name === 'Mock Mutual')).toHaveLength(2);
  const { row } = await charts.added(next().mrn, { insurance_name: 'mock mutual' });
  expect(row.companyName).toBe('Mock Mutual');
  expect([payer('MOC01').ehr_id, payer('MOC02').ehr_id]).toContain(row.companyId);
});

test(row('INS-16'), async () => {
  await charts.rejects(400, /insurance_payer_id.*insurance_name/, [
    () => charts.add(patient(1).mrn, { member_id: 'M', insurance_payer_id: 'MOC01' }),
    () => charts.add(patient(1).mrn, { member_id: 'M', insurance_payer_id: 'MOC01', insurance_name: '' }),
  ]);
});

test(row('INS-22'), async () => {
  const { status, body } = await charts.add(next().mrn, good);
  expect(status).toBe(200);
  expect(body).toStrictEqual({
    success: true,
    message: expect.any(String),
    patient_insurance_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect(Number.isInteger(body.job_id)).toBe(true);
  await fixture.api.untilEvent(body.job_id);
});

test(row('INS-23'), async () => {
  const { mrn, ehr_id } = next();
  const done = await charts.outcome(await charts.add(mrn, { ...good, member_id: 'KEPT' }));
  expect(done.event_type).toBe('patient.insurance.added');
  await setFault(fixture.api, 'add_patient_insurance', 'refuse', { reason: 'The plan has ended.' });
  const refused = await charts.outcome(await charts.add(mrn, { ...good, member_id: 'REFUSED' }));
  expect(refused.event_type).toBe('patient.insurance.failed');
  const numbers = (await charts.rows('patient-insurances', { patientId: ehr_id })).map((row) => row.subscriberNumber);
  expect(numbers).toContain('KEPT');
  expect(numbers).not.toContain('REFUSED');
});

test(row('LIM-08'), async () => {
  expect((await charts.added(next().mrn, { copayment: 0 })).row.copayment).toBe('0.00');
  await rejectsValues('copayment', [-0.01, -1, -25]);
});

test(row('LIM-09'), async () => {
  const { mrn } = await charts.created();
  for (const priority of ['1', '2', '3'])
    expect((await charts.added(mrn, { priority })).row.priority).toBe(Number(priority));
  await rejectsValues('priority', ['0', '4']);
});

test(row('DEC-183'), async () => {
  await charts.rejects(400, 'One of insurance_provider_id or insurance_name is required.', [
    () => charts.add(patient(1).mrn, { member_id: 'M' }),
    () => charts.add(patient(1).mrn, { member_id: 'M', insurance_name: '' }),
  ]);
});

test(row('DEC-184'), async () => {
  const alone = { member_id: 'M', insurance_payer_id: 'PLS01' };
  await charts.rejects(400, /insurance_payer_id.*insurance_name/, [
    () => charts.add(patient(1).mrn, alone),
    () => charts.add(patient(1).mrn, { ...alone, insurance_provider_id: payer('PLS01').id }),
  ]);
});

test(row('DEC-188'), async () => {
  const today = () => new Date().toLocaleDateString('en-CA', { timeZone: 'America/New_York' });
  const days = [today()];
  const { row, data } = await charts.added(next().mrn);
  days.push(today());
  const [month, day, year] = row.planBegins.split('/');
  expect(days).toContain(`${year}-${month}-${day}`);
  expect(data.plan_begin_date).toBe(`${year}-${month}-${day}`);
});

test(row('DEC-190'), async () => {
  await charts.rejects(404, /not found/, [
    () => charts.add(patient(1).mrn, { ...good, insurance_provider_id: 'f'.repeat(32) }),
    () => charts.add(patient(1).mrn, { ...good, insurance_provider_id: 'MOC01', insurance_payer_id: 'MOC01' }),
  ]);
});

test(row('ERR-19'), async () => {
  const insurance_provider_id = 'f'.repeat(32);
  await charts.rejects(404, `Insurance provider with ID '${insurance_provider_id}' not found.`, [
    () => charts.add(patient(1).mrn, { member_id: 'M', insurance_provider_id }),
  ]);
});

test(row('ERR-20'), async () => {
  // The message names what was not found and the endpoint that lists the existing ones.
  await charts.rejects(404, /'Nobody Insures'.*GET \/v1\/insurance-providers/, [
    () => charts.add(patient(1).mrn, { member_id: 'M', insurance_name: 'Nobody Insures' }),
  ]);
});

test(row('ERR-21'), async () => {
  await charts.rejects(404, /'Mock Mutual'.*'PLS01'.*GET \/v1\/insurance-providers/, [
    () => charts.add(patient(1).mrn, { ...good, insurance_payer_id: 'PLS01' }),
  ]);
});
