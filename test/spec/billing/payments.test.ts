import { randomUUID } from 'node:crypto';
import type * as fhir from 'fhir/r4.js';
import { beforeAll, expect, test } from 'vitest';
import { todayIn } from '../../../src/platform/time/zones.ts';
import { newClient } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { type FhirAccount, fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, patient, setFault, signInToLarkspur } from '../../journeys/support.ts';
import { countAcceptedWork } from '../support/databaseState.ts';
import { changeClinicRow, isoDay } from '../support/emrRecords.ts';
import { expectRejected, not_strings } from '../support/expectErrors.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
let chart: Chart;
let fhir_account: FhirAccount;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  fhir_account = await fhirAccount(fixture);
});

const { mrn, ehr_id } = patient(21);
const payment = (fields: Record<string, unknown> = {}) => ({
  ...{ patient_mrn: mrn, payment_method: 'Check', reference_number: randomUUID(), location: '11', amount: 12.5 },
  ...fields,
});
const send = (fields: Record<string, unknown> = {}, api: Api = fixture.api): Promise<ApiResponse> =>
  api.call('POST', '/v1/payments', { body: payment(fields) });
const ledger = (patient_ehr_id = ehr_id) => chart.list(patient_ehr_id, 'payments');

async function posted(fields: Record<string, unknown> = {}) {
  const { status, body } = await send(fields);
  expect(status, JSON.stringify(body)).toBe(200);
  const event = await fixture.api.untilEvent(body.job_id);
  const entry = (await ledger()).find(({ paymentId }) => paymentId === event.data.emr_payment_id);
  return { accepted: body, event, entry };
}

const expectPaymentRejected = (
  fields: Record<string, unknown>,
  rejection: { status?: number; message: string | RegExp; field?: string },
) => expectRejected(fixture, () => send(fields), rejection);

test(row('BIL-01'), async () => {
  const reference_number = `CHK-${randomUUID().slice(0, 8)}`;
  const { accepted, event, entry } = await posted({ reference_number, amount: 31.05 });
  expect(accepted).toStrictEqual({
    success: true,
    message: 'Payment queued. A webhook event follows on completion.',
    payment_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect(event.event_type).toBe('payment.posted');
  expect(entry).toMatchObject({ patientId: ehr_id, amount: '31.05', methodName: 'Check', facilityId: '11' });
  const screen = await chart.screen(ehr_id);
  for (const shown of ['Ledger', reference_number, '$31.05', `#${entry?.paymentId}`]) expect(screen).toContain(shown);
});

test(row('BIL-02'), async () => {
  for (const field of ['patient_mrn', 'payment_method', 'reference_number', 'location', 'amount']) {
    const message = `Missing required field: ${field}`;
    for (const missing of [undefined, null, '', '  ']) {
      await expectPaymentRejected({ [field]: missing }, { message, field });
    }
  }
  for (const field of ['patient_mrn', 'payment_method', 'reference_number', 'location']) {
    for (const value of not_strings) {
      await expectPaymentRejected({ [field]: value }, { message: `${field} must be a string`, field });
    }
  }
  await expectPaymentRejected(
    { currency: 'USD' },
    { message: 'Unexpected fields in request body: currency', field: 'currency' },
  );
});

test('an invalid amount is listed beside other errors', async () => {
  const { body } = await fixture.api.call('POST', '/v1/payments', { body: { amount: -3, deposit_date: 'x' } });
  expect(body.errors.map(({ field }: { field: string }) => field)).toEqual(
    expect.arrayContaining(['amount', 'deposit_date']),
  );
});

test(row('BIL-03'), async () => {
  for (const [amount, message] of [
    [0, 'amount must be more than 0'],
    [-0.01, 'amount must be more than 0'],
    [1_000_000.01, 'amount must be at most 1000000'],
    [1e300, 'amount must be at most 1000000'],
    [0.001, 'amount must have at most two decimals'],
    [12.345, 'amount must have at most two decimals'],
    [0.1 + 0.2, 'amount must have at most two decimals'],
    [1e-9, 'amount must have at most two decimals'],
    ['12.50', 'amount must be a number'],
    [true, 'amount must be a number'],
    [[5], 'amount must be a number'],
  ] as const) {
    await expectPaymentRejected({ amount }, { message, field: 'amount' });
  }
  for (const amount of [0.01, 1_000_000]) {
    expect((await posted({ amount, patient_mrn: patient(22).mrn })).event.data.amount).toBe(amount);
  }
});

test(row('BIL-04'), async () => {
  const [{ patientBalance }] = (await fixture.api.control('GET', `/control/balances?patientId=${ehr_id}`)).body.rows;
  let cents = Math.round(Number(patientBalance) * 100);
  // As binary fractions, most of these are not exact.
  for (const amount of [0.07, 0.29, 1.1, 19.99, 1.15, 4.35, 8192.01]) {
    const { event, entry } = await posted({ amount });
    cents -= Math.round(amount * 100);
    expect(event.data).toMatchObject({ amount, balance_after: cents / 100 });
    expect(entry).toMatchObject({ amount: amount.toFixed(2), balanceAfter: (cents / 100).toFixed(2) });
  }
  const [{ patientBalance: after }] = (await fixture.api.control('GET', `/control/balances?patientId=${ehr_id}`)).body
    .rows;
  expect(after).toBe((cents / 100).toFixed(2));
});

test(row('BIL-05'), async () => {
  const { event, entry } = await posted({ payment_method: '  credit CARD ' });
  expect(event.data.payment_method).toBe('Credit card');
  expect(entry).toMatchObject({ methodCode: 'CC', methodName: 'Credit card' });
  for (const payment_method of ['Barter', 'CC', 'Credit']) {
    const message = 'payment_method must be one of: Bank transfer, Cash, Check, Credit card, Debit card';
    await expectPaymentRejected({ payment_method }, { message, field: 'payment_method' });
  }
});

test(row('BIL-06'), async () => {
  const { timezone } = (await fixture.api.call('GET', '/v1/settings')).body.data;
  const plain = await posted({ notes: null, deposit_date: '' });
  const today = todayIn(timezone);
  expect([plain.entry?.notes, isoDay(plain.entry?.depositDate), plain.event.data.deposit_date]).toStrictEqual([
    null,
    today,
    today,
  ]);
  const dated = await posted({ notes: 'Front desk', deposit_date: '2026-02-27T23:00:00-05:00' });
  expect(dated.entry).toMatchObject({ notes: 'Front desk', depositDate: '02/27/2026' });
  expect(dated.event.data.deposit_date).toBe('2026-02-27');
  const message = 'deposit_date must be a date that exists, in the form YYYY-MM-DD';
  for (const deposit_date of ['2026-02-30', '02/27/2026', 'today']) {
    await expectPaymentRejected({ deposit_date }, { message, field: 'deposit_date' });
  }
});

test(row('BIL-07'), async () => {
  const unknown = { status: 404, message: 'Patient not found.', field: 'patient_mrn' };
  await expectPaymentRejected({ patient_mrn: 'NOBODY' }, unknown);
  // A patient of another practice is unknown, too.
  await expectPaymentRejected({ patient_mrn: fhir_account.mrn }, unknown);
  const nowhere = { status: 404, message: "Location with EMR ID '99' not found.", field: 'location' };
  await expectPaymentRejected({ location: '99' }, nowhere);
  await changeClinicRow(fixture, 'facilities', '13', { activeFlag: 'N' });
  try {
    await fixture.api.sync();
    await expectPaymentRejected({ location: '13' }, { message: /^Location with EMR ID '13' is inactive\./ });
  } finally {
    await changeClinicRow(fixture, 'facilities', '13', { activeFlag: 'Y' });
    await fixture.api.sync();
  }
});

test(row('BIL-08'), async () => {
  const { accepted, event, entry } = await posted({ amount: 20, reference_number: `R-${randomUUID()}` });
  expect(event.data).toStrictEqual({
    payment_id: accepted.payment_id,
    emr_payment_id: entry?.paymentId,
    patient_mrn: mrn,
    amount: 20,
    payment_method: 'Check',
    reference_number: entry?.referenceNumber,
    deposit_date: isoDay(entry?.depositDate),
    balance_after: Number(entry?.balanceAfter),
  });
});

test(row('BIL-09'), async () => {
  const before = await ledger();
  await setFault(fixture.api, 'post_payment', 'refuse', { reason: 'The books are closed.' });
  const { accepted, event } = await posted({ amount: 20.1, reference_number: 'R-9' });
  expect(event.event_type).toBe('payment.failed');
  expect(event.data).toStrictEqual({
    payment_id: accepted.payment_id,
    patient_mrn: mrn,
    amount: 20.1,
    payment_method: 'Check',
    reference_number: 'R-9',
    deposit_date: expect.any(String),
    failure_reason: 'The books are closed.',
    reasons: [{ code: 'emr_refused', description: 'The books are closed.' }],
  });
  expect(await ledger()).toStrictEqual(before);
});

const warning = 'A payment of this patient with this reference_number was sent before.';

test(row('BIL-10'), async () => {
  const reference_number = randomUUID();
  expect((await posted({ reference_number })).accepted).not.toHaveProperty('warning');
  const again = await posted({ reference_number, amount: 1 });
  expect(again.accepted.warning).toBe(warning);
  expect(again.event.event_type).toBe('payment.posted');
  const shared = { reference_number: randomUUID() };
  const responses = await withJobsPaused(fixture, () => Promise.all([send(shared), send(shared), send(shared)]));
  expect(responses.map(({ body }) => body.warning ?? '').sort()).toStrictEqual(['', warning, warning]);
  for (const { body } of responses) await fixture.api.untilEvent(body.job_id);
});

test(row('BIL-11'), async () => {
  const reference_number = randomUUID();
  await setFault(fixture.api, 'post_payment', 'refuse', { reason: 'Not today.' });
  expect((await posted({ reference_number })).event.event_type).toBe('payment.failed');
  const headers = { 'idempotency-key': randomUUID() };
  const body = payment({ reference_number });
  const first = await fixture.api.call('POST', '/v1/payments', { body, headers });
  expect(first.body).not.toHaveProperty('warning');
  const of_another = await send({ reference_number, patient_mrn: patient(22).mrn });
  expect(of_another.body).not.toHaveProperty('warning');
  const second_headers = { 'idempotency-key': randomUUID() };
  const second = await fixture.api.call('POST', '/v1/payments', { body, headers: second_headers });
  expect(second.body.warning).toBe(warning);
  expect((await fixture.api.call('POST', '/v1/payments', { body, headers })).body).toStrictEqual(first.body);
  const replayed = await fixture.api.call('POST', '/v1/payments', { body, headers: second_headers });
  expect(replayed.body).toStrictEqual(second.body);
  // They would use up the faults of later tests.
  for (const { body: accepted } of [first, of_another, second]) await fixture.api.untilEvent(accepted.job_id);
  // Another client has no payment with this number, and no patient.
  const { api } = await newClient(fixture);
  expect((await api.call('POST', '/v1/payments', { body, headers: { access_token: null } })).status).toBe(401);
});

test(row('BIL-12'), async () => {
  for (const kind of ['lose_answer', 'truncate', 'reset']) {
    await setFault(fixture.api, 'post_payment', kind);
    const reference_number = randomUUID();
    const { accepted, event, entry } = await posted({ amount: 3.33, reference_number });
    expect(event, kind).toMatchObject({ event_type: 'payment.posted', data: { amount: 3.33 } });
    expect(event.data.balance_after, kind).toBe(Number(entry?.balanceAfter));
    const sent = (await fixture.api.ledger()).filter(({ marker }) => marker?.startsWith(accepted.payment_id));
    expect(sent.filter(({ applied }) => applied)).toHaveLength(1);
    const entries = (await ledger()).filter(({ referenceNumber }) => referenceNumber === reference_number);
    expect(entries, kind).toHaveLength(1);
  }
});

test(row('BIL-13'), async () => {
  const { api, server, mrn: fhir_mrn } = fhir_account;
  const [location] = (await api.call('GET', '/v1/locations')).body.locations;
  const fields = { patient_mrn: fhir_mrn, location: location.ehr_id, payment_method: 'Money order', amount: 45.67 };
  const { body } = await send({ ...fields, reference_number: 'MO-1', notes: 'By mail' }, api);
  const event = await api.untilEvent(body.job_id);
  expect(event, JSON.stringify(event)).toMatchObject({
    event_type: 'payment.posted',
    data: { amount: 45.67, payment_method: 'Money order', balance_after: null },
  });
  const notices = await server.resources<fhir.PaymentNotice>('PaymentNotice');
  expect(
    notices.filter(({ identifier }) => identifier?.some(({ value }) => value?.startsWith(body.payment_id))),
  ).toEqual([
    expect.objectContaining({
      id: event.data.emr_payment_id,
      status: 'active',
      request: { reference: expect.stringMatching(/^Patient\//) },
      amount: { value: 45.67, currency: 'USD' },
      contained: [
        expect.objectContaining({
          resourceType: 'PaymentReconciliation',
          paymentIdentifier: { value: 'MO-1' },
          processNote: [
            { type: 'print', text: 'Payment method: Money order' },
            { type: 'print', text: 'By mail' },
          ],
        }),
      ],
    }),
  ]);
});

test(row('BIL-14'), async () => {
  const { api, server, mrn: fhir_mrn } = fhir_account;
  const { withheld } = server.faults;
  for (const missing of ['all', ['search-type'], ['create']] as const) {
    server.faults.withheld = { ...withheld, PaymentNotice: missing === 'all' ? missing : [...missing] };
    await api.sync();
    const before = await countAcceptedWork(fixture);
    const response = await send({ patient_mrn: fhir_mrn }, api);
    expect([response.status, response.body.message]).toStrictEqual([400, 'This EMR does not offer payments.']);
    expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  }
  server.faults.withheld = withheld;
  await api.sync();
});

test(row('BIL-15'), async () => {
  const { payment_methods, phone_call_types } = (await fixture.api.call('GET', '/v1/settings')).body.data;
  expect(payment_methods).toContainEqual({ code: 'CC', name: 'Credit card' });
  expect(phone_call_types).toContainEqual({ id: '2', name: 'Billing question' });
  const { data } = (await fhir_account.api.call('GET', '/v1/settings')).body;
  expect([data.payment_methods, data.phone_call_types]).toStrictEqual([[], []]);
});
