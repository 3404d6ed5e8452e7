import { afterAll, beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type Charts, createCharts } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
/** The required fields, and the outcome of a creation, before the clinic required more. */
let before: { required: string[]; event_type: string };
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  charts = createCharts(fixture);
  before = { required: await required(), event_type: (await charts.outcome(await charts.create())).event_type };
  const value = ['homePhone', 'email', 'language'];
  const { status } = await fixture.api.control('PATCH', '/control/settings/requiredPatientFields', { value });
  expect(status).toBe(200);
  await fixture.api.sync();
});
afterAll(() => fixture.close());

/** What every new patient requires, whichever EMR it is. */
const always = ['first_name', 'last_name', 'dob', 'sex'];
const required = async () => (await fixture.api.call('GET', '/v1/settings')).body.data.required_patient_fields;
const needed = { phone: '518-555-0139', email: 'needed@example.test', language: 'English' };

test(row('PAT-05'), async () => {
  const { email: _left, ...others } = needed;
  await charts.rejects(400, 'Missing required field: email', [
    () => charts.create(others),
    () => charts.create({ ...others, email: '' }),
    () => charts.create({ ...others, no_email_reason: '' }),
  ]);
  const excused = await charts.created({ ...others, no_email_reason: 'Has none' });
  expect(excused.chart).toMatchObject({ email: null, noEmailReason: 'Has none' });
  // Without a required email no reason is needed either.
  expect(before).toStrictEqual({ required: always, event_type: 'patient.created' });
});

test(row('DEC-139'), async () => {
  expect((await required()).slice(always.length).sort()).toStrictEqual(['email', 'language', 'phone']);
  for (const field of Object.keys(needed)) {
    await charts.rejects(400, `Missing required field: ${field}`, [
      () => charts.create({ ...needed, [field]: undefined }),
    ]);
  }
  expect((await charts.created(needed)).chart).toMatchObject({ homePhone: '518-555-0139', languageCode: 'ENG' });
});

test('reports each missing field that the practice requires', async () => {
  const value = ['email', 'insurances', 'cellPhone'];
  await fixture.api.control('PATCH', '/control/settings/requiredPatientFields', { value });
  await fixture.api.sync();
  expect(await required()).toStrictEqual([...always, 'email', 'insurance_name', 'cell_phone']);
  const message = async (fields: Record<string, unknown>) => (await charts.create(fields)).body.message;
  expect(await message({})).toBe('Missing required field: email');
  expect(await message({ no_email_reason: 'Has none' })).toBe('Missing required field: insurance_name');
  const fields = { no_email_reason: 'Has none', insurance_name: 'Mock Mutual' };
  expect(await message(fields)).toBe('Missing required field: cell_phone');
  await charts.created({ ...fields, cell_phone: '518-555-0500' });
});

test(row('RUL-17'), async () => {
  // Fields that the practice names although every new patient requires them are not listed twice.
  const value = ['birthDate', 'homePhone', 'lastName', 'homePhone'];
  await fixture.api.control('PATCH', '/control/settings/requiredPatientFields', { value });
  await fixture.api.sync();
  const listed = await required();
  expect(listed).toStrictEqual([...always, 'phone']);
  // Each listed field is missed when it is left out, and nothing else is.
  const complete = { phone: '518-555-0139' };
  for (const field of listed) {
    await charts.rejects(400, `Missing required field: ${field}`, [
      () => charts.create({ ...complete, [field]: undefined }),
    ]);
  }
  await charts.created(complete);
});
