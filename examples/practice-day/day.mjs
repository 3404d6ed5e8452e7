/** A day at a practice, from an open time to the payment, through the API alone. See README.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Chartwire, ChartwireError, JobFailedError } from '@chartwire/client';

const { values: options } = parseArgs({ options: { arrive: { type: 'boolean', default: false } } });
// `npm start` writes this file. In production, take the credentials from your secret store.
const sandbox = JSON.parse(readFileSync(join(process.env.DATA_DIR ?? '../../data', 'sandbox.json'), 'utf8'));
const client = new Chartwire({
  baseUrl: sandbox.base_url,
  clientId: sandbox.client_id,
  clientSecret: sandbox.client_secret,
  accessToken: sandbox.access_token,
});
/** The client's own reference: it comes back in every response, job and event of this day. */
const reference = `day-${new Date().toISOString().slice(0, 16)}`;
const { patient_mrn } = sandbox.example;
/** A picture of one pixel. */
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

try {
  const visit = await book();
  await reschedule(visit);
  await arrive(visit);
  await writeNote(visit);
  await bill(visit);
  await checkEligibility();
  await refer();
  await followUp();
  print('Done', `see the chart in Larkspur: ${await chartUrl()}`);
  print('Reference', reference);
} catch (error) {
  if (error instanceof JobFailedError) fail(`The EMR refused (${error.code}): ${error.message}`);
  else if (error instanceof ChartwireError) fail(error.message);
  else throw error;
}

/** Takes the first open time of the next seven days. */
async function book() {
  const [opening, later] = await findTimes();
  const { visit_types } = await client.visitTypes.list();
  const { data } = await client.appointments.createAndWait({
    mrn: patient_mrn,
    provider: opening.provider_id,
    location: opening.facility_id,
    type: visit_types[0].code,
    datetime: opening.range_start,
    duration: '20',
    reason: 'Follow-up',
    prevent_double_booking: 'true',
    reference,
  });
  print('Booked', `${data.provider_name}, ${data.date_time}`);
  return { id: data.appointment_id, ehr_id: data.ehr_appointment_id, opening, later };
}

async function findTimes() {
  const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const { results } = await client.availability.list({
    start_date: day(1),
    end_date: day(7),
    calculation_method: 'equal_slots',
    max_slot_duration: 30,
  });
  const [first] = results.availability;
  const same_provider = results.availability.filter(({ provider_id }) => provider_id === first?.provider_id);
  if (same_provider.length < 2) throw new ChartwireError('No provider has two open times in the next seven days.');
  return same_provider;
}

/** The patient calls: a later time is better. */
async function reschedule({ id, later }) {
  const { data } = await client.appointments.updateAndWait(id, { datetime: later.range_start, reference });
  print('Rescheduled', data.datetime);
}

/** The front desk sets the visit to Arrived in the EMR. The change feed shows it after the next sync. */
async function arrive({ id, ehr_id }) {
  let { next_cursor: cursor } = await client.changes.list({ kinds: 'appointments', cursor: 'latest' });
  if (options.arrive) await actAsFrontDesk(ehr_id);
  else print('Now you', `set the visit to Arrived: ${sandbox.larkspur.url}/appointments/${ehr_id} (codes: /codes)`);
  for (;;) {
    await client.sync.createAndWait();
    const page = await client.changes.list({ kinds: 'appointments', cursor });
    const change = page.changes.find((each) => each.id === id);
    if (change) return print('Arrived', `status ${change.record.status}`);
    cursor = page.next_cursor;
    await pause(2_000);
  }
}

/** What a member of the staff does on Larkspur's page of the visit. Only the sandbox has this shortcut. */
async function actAsFrontDesk(ehr_id) {
  const { url, control_token } = sandbox.larkspur;
  const response = await fetch(`${url}/control/appointments/${ehr_id}`, {
    method: 'PATCH',
    headers: { 'control-token': control_token, 'content-type': 'application/json' },
    body: JSON.stringify({ statusCode: 'ARR' }),
  });
  if (!response.ok) throw new ChartwireError(`Larkspur returned ${response.status}.`);
}

async function writeNote({ id }) {
  await client.notes.createAndWait({
    appointment_id: id,
    note: {
      subjective: 'Feels well, sleeps better.',
      objective: 'Blood pressure 128/82.',
      assessment: 'Hypertension, controlled.',
      plan: 'Continue medication, see in three months.',
    },
    icd_10_codes: ['I10'],
    cpt_codes: ['99213'],
    reference,
  });
  print('Note', 'in the chart');
}

async function bill({ id, opening }) {
  const { data: claim } = await client.claims.createAndWait({ appointment_id: id, reference });
  print('Claim', claim.emr_claim_id);
  const { data: settings } = await client.settings.get();
  const { data: payment } = await client.payments.createAndWait({
    patient_mrn,
    payment_method: settings.payment_methods[0].name,
    reference_number: `R-${Date.now()}`,
    location: opening.facility_id,
    amount: 25.5,
    reference,
  });
  print('Payment', `${payment.amount} posted, balance ${payment.balance_after}`);
}

async function checkEligibility() {
  for await (const check of client.eligibilityChecks.list({ patient_mrn })) {
    return print('Eligibility', `${check.payer_name}: ${check.coverage_status}`);
  }
  print('Eligibility', 'not checked yet');
}

/** To a colleague outside the practice, with a document. */
async function refer() {
  const to = await firstOf(client.referringProviders.list({ status: 'active' }));
  const from = await firstOf(client.providers.list());
  const { data } = await client.referrals.createAndWait({
    patient_mrn,
    direction: 'outgoing',
    referring_from_provider_ehr_id: from.ehr_id,
    referring_to_provider_ehr_id: to.ehr_id,
    priority: 'routine',
    reason: 'Cardiology opinion',
    diagnosis_codes: ['I10'],
    documents: [{ filename: 'summary.png', content_base64: picture }],
    reference,
  });
  print('Referral', data.emr_referral_id ?? data.referral_id);
}

async function followUp() {
  const assignee = await firstOf(client.staff.list({ status: 'active' }));
  const { data: settings } = await client.settings.get();
  const { data } = await client.tasks.createAndWait({
    patient_mrn,
    subject: 'Call back',
    description: 'Ask about the blood pressure diary.',
    assignee_user_id: assignee.ehr_id,
    phone_call_type_id: settings.phone_call_types[0].id,
    reference,
  });
  print('Task', data.emr_task_id);
}

/** Larkspur's page of the patient. */
async function chartUrl() {
  const { patients } = await client.patients.search({ mrn: patient_mrn });
  return `${sandbox.larkspur.url}/patients/${patients[0].ehr_id}`;
}

async function firstOf(list) {
  for await (const each of list) return each;
  throw new ChartwireError('The EMR has none. Run: ./chartwire sandbox reset');
}

function print(what, result) {
  process.stdout.write(`${what.padEnd(12)} ${result}\n`);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
