import { beforeAll, expect, test } from 'vitest';
import { apiAs, expectApiError } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, patient, setFault, signInToLarkspur } from '../../journeys/support.ts';
import { complete, completeBooking } from '../support/completedJobs.ts';
import { expectRejected, not_strings } from '../support/expectErrors.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
let chart: Chart;
let appointment_id: string;
let ehr_appointment_id: string;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  const { event } = await completeBooking(fixture, { mrn: patient(8).mrn });
  ({ appointment_id, ehr_appointment_id } = event.data);
});

const text = 'Cough for three days.\nFluids.';
const sections = { subjective: 'Cough', objective: 'Lungs clear', assessment: 'Cold', plan: 'Fluids' };
const send = (body: object, api: Api = fixture.api) => api.call('POST', '/v1/notes', { body });
const addNote = (body: object) => complete(fixture, '/v1/notes', { appointment_id, ...body });
const patientNote = (more: object = {}) => ({
  ...{ note: 'Prefers calls in the morning.', subject: 'Contact', patient_mrn: patient(8).mrn, location_id: '11' },
  ...more,
});
const sendPatientNote = (body: object) => fixture.api.call('POST', '/v1/patient-notes', { body });

test(row('NTE-01'), async () => {
  for (const field of ['appointment_id', 'note']) {
    for (const absent of [undefined, null, '']) {
      const rejection = { message: `Missing required field: ${field}`, field };
      await expectRejected(fixture, () => send({ appointment_id, note: text, [field]: absent }), rejection);
    }
  }
  const malformed = { message: /^appointment_id /, field: 'appointment_id' };
  await expectRejected(fixture, () => send({ appointment_id: 'x', note: text }), malformed);
  for (const note of [5, true, ['a'], { subjective: 5 }, { other: 'x' }])
    await expectRejected(fixture, () => send({ appointment_id, note }), { message: /note/ });
  for (const note of [{}, { plan: '  ' }])
    await expectRejected(fixture, () => send({ appointment_id, note }), { message: 'Missing required field: note' });
});

test(row('NTE-02'), async () => {
  const { accepted, event } = await addNote({ note: text });
  expect(accepted).toStrictEqual({
    success: true,
    message: expect.stringContaining('webhook event'),
    note_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect(event.event_type).toBe('note.uploaded');
  expect(event.data).toStrictEqual({
    note_id: accepted.note_id,
    emr_note_id: expect.any(String),
    appointment_id,
    ehr_appointment_id,
    patient_mrn: patient(8).mrn,
  });
  const stored = (await chart.list(patient(8).ehr_id, 'visit-notes')).find(
    ({ visitNoteId }) => visitNoteId === event.data.emr_note_id,
  );
  expect(stored).toMatchObject({ appointmentId: ehr_appointment_id, text, sections: null });
  expect(await chart.screen(patient(8).ehr_id)).toContain('Cough for three days.');
});

test(row('NTE-03'), async () => {
  const { event } = await addNote({ note: sections, icd_10_codes: ['J06.9', 'r05'], cpt_codes: ['99213'] });
  const stored = (await chart.list(patient(8).ehr_id, 'visit-notes')).find(
    ({ visitNoteId }) => visitNoteId === event.data.emr_note_id,
  );
  expect(stored).toMatchObject({ text: null, sections, icdCodes: ['J06.9', 'r05'], cptCodes: ['99213'] });
  expect((await addNote({ note: { plan: 'Return in a week' } })).event.event_type).toBe('note.uploaded');
  for (const [field, value] of [
    ['icd_10_codes', ['J06.9']],
    ['cpt_codes', ['99213']],
  ] as const) {
    const rejection = { message: `${field} requires a structured note`, field };
    await expectRejected(fixture, () => send({ appointment_id, note: text, [field]: value }), rejection);
  }
  for (const more of [{ icd_10_codes: ['123'] }, { icd_10_codes: 'J06.9' }, { cpt_codes: ['99'] }])
    await expectRejected(fixture, () => send({ appointment_id, note: sections, ...more }), { message: /_codes/ });
});

test(row('NTE-04'), async () => {
  const { api } = await fhirAccount(fixture);
  const structured = await send({ appointment_id: 'a'.repeat(32), note: sections }, api);
  expect(structured.status).toBe(400);
  expect(structured.body.message).toMatch(/^(Structured notes are only supported for Larkspur EMR|This EMR does not)/);
});

test(row('NTE-05'), async () => {
  const unknown = 'f'.repeat(32);
  const absent = { status: 404, message: `Appointment with ID '${unknown}' not found.`, field: 'appointment_id' };
  await expectRejected(fixture, () => send({ appointment_id: unknown, note: text }), absent);
  const access_token = await fixture.api.link({ user_id: 'notes-other', org_id: 'notes-other' });
  const other = apiAs(fixture, { access_token });
  await other.sync();
  expectApiError(await send({ appointment_id, note: text }, other), 404, /^Appointment with ID/, 'appointment_id');
  const job_id = await withJobsPaused(fixture, async () => {
    const { mrn } = patient(9);
    const body = { mrn, location: '11', provider: '501', type: 'FU', datetime: '2032-05-04T10:00:00-04:00' };
    const booked = await fixture.api.call('POST', '/v1/appointments', { body });
    const response = await send({ appointment_id: booked.body.appointment_id, note: text });
    expectApiError(
      response,
      409,
      'The appointment has no EMR ID. Wait for the event of its booking, or correct it if it has failed.',
      'appointment_id',
    );
    return booked.body.job_id;
  });
  await fixture.api.untilEvent(job_id);
});

test(row('NTE-06'), async () => {
  await setFault(fixture.api, 'add_visit_note', 'refuse', { reason: 'The visit is closed.' });
  const { accepted, event } = await addNote({ note: text });
  expect(event.event_type).toBe('note.failed');
  expect(event.data).toStrictEqual({
    ...{ note_id: accepted.note_id, appointment_id, patient_mrn: patient(8).mrn },
    failure_reason: 'The visit is closed.',
    reasons: [{ code: 'emr_refused', description: 'The visit is closed.' }],
  });
});

test(row('NTE-07'), async () => {
  for (const field of ['note', 'subject', 'patient_mrn', 'location_id']) {
    for (const absent of [undefined, null, ' ']) {
      const rejection = { message: `Missing required field: ${field}`, field };
      await expectRejected(fixture, () => sendPatientNote(patientNote({ [field]: absent })), rejection);
    }
    for (const value of not_strings) {
      const rejection = { message: new RegExp(`^${field} `), field };
      await expectRejected(fixture, () => sendPatientNote(patientNote({ [field]: value })), rejection);
    }
  }
  const unknown = { status: 404, message: "Location with EMR ID '99' not found.", field: 'location_id' };
  await expectRejected(fixture, () => sendPatientNote(patientNote({ location_id: '99' })), unknown);
});

test(row('NTE-08'), async () => {
  const { accepted, event } = await complete(fixture, '/v1/patient-notes', patientNote());
  expect(accepted).toStrictEqual({
    success: true,
    message: expect.stringContaining('webhook event'),
    patient_note_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect(event.event_type).toBe('patient_note.created');
  expect(event.data).toStrictEqual({
    patient_note_id: accepted.patient_note_id,
    emr_patient_note_id: expect.any(String),
    ...{ patient_mrn: patient(8).mrn, subject: 'Contact', location_id: '11' },
  });
  const [stored] = (await chart.list(patient(8).ehr_id, 'notes')).slice(-1);
  expect(stored).toMatchObject({ subject: 'Contact', text: 'Prefers calls in the morning.', facilityId: '11' });
  expect(await chart.screen(patient(8).ehr_id)).toContain('Prefers calls in the morning.');
  const missing = await complete(fixture, '/v1/patient-notes', patientNote({ patient_mrn: 'NOBODY' }));
  expect(missing.event.event_type).toBe('patient_note.failed');
  expect(missing.event.data).toStrictEqual({
    ...{ patient_note_id: missing.accepted.patient_note_id, patient_mrn: 'NOBODY' },
    failure_reason: expect.stringMatching(/\S/),
    reasons: [{ code: 'patient_not_found', description: missing.event.data.failure_reason }],
  });
});

test('a note is written once if its response is lost', async () => {
  await setFault(fixture.api, 'add_visit_note', 'lose_answer');
  const note = await addNote({ note: text });
  await setFault(fixture.api, 'add_patient_note', 'lose_answer');
  const of_patient = await complete(fixture, '/v1/patient-notes', patientNote());
  const entries = await fixture.api.ledger();
  for (const id of [note.accepted.note_id, of_patient.accepted.patient_note_id])
    expect(entries.filter(({ marker, applied }) => applied && marker?.startsWith(id))).toHaveLength(1);
});
