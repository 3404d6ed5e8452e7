import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { signInOperator } from '../harness/operator.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { newPerson } from '../spec/patients/charts.ts';
import { type Completed, complete, completeBooking, completeCall } from '../spec/support/completedJobs.ts';
import { changeClinicRow } from '../spec/support/emrRecords.ts';
import { patient, setFault } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const createPatient = (fields: Record<string, unknown>) => complete(fixture, '/v1/patients', fields);

/** Runs `work` while a record of the clinic has other values than at the last sync. */
async function whileChanged(kind: string, id: string, values: object, back: object, work: () => Promise<Completed>) {
  await changeClinicRow(fixture, kind, id, values);
  try {
    return await work();
  } finally {
    await changeClinicRow(fixture, kind, id, back);
  }
}

async function bookTwice(): Promise<Completed> {
  const booking = { provider: '505', datetime: '2031-07-08T09:00:00-04:00', prevent_double_booking: 'true' };
  await completeBooking(fixture, booking);
  return completeBooking(fixture, { ...booking, mrn: patient(2).mrn });
}

async function createTwice(): Promise<Completed> {
  const person = newPerson();
  await createPatient(person);
  return createPatient(person);
}

const situations: [what: string, code: string, run: () => Promise<Completed>][] = [
  [
    'an unknown medication',
    'medication_not_found',
    () => completeCall(fixture, { refill_medication_name: 'Warfarin' }),
  ],
  [
    'a name of several medications',
    'medication_ambiguous',
    () => completeCall(fixture, { patient_mrn: patient(2).mrn, refill_medication_name: 'metformin' }),
  ],
  ['a time that is taken', 'slot_taken', bookTwice],
  ['a person who has a chart', 'duplicate_patient', createTwice],
  ['an unknown language', 'unknown_value', () => createPatient(newPerson({ language: 'Klingon' }))],
  ['an unknown race', 'unknown_value', () => createPatient(newPerson({ race: 'Martian' }))],
  ['an unknown ethnicity', 'unknown_value', () => createPatient(newPerson({ ethnicity: 'Elsewhere' }))],
  ['an unknown MRN in a call', 'patient_not_found', () => completeCall(fixture, { patient_mrn: 'LK999999' })],
  ['an unknown MRN in a booking', 'patient_not_found', () => completeBooking(fixture, { mrn: 'LK999999' })],
  [
    'an unknown MRN of an insurance',
    'patient_not_found',
    () => complete(fixture, '/v1/patients/LK999999/insurances', { member_id: 'M-1', insurance_name: 'Mock Mutual' }),
  ],
  [
    'an unknown telephone encounter',
    'record_not_found',
    () => complete(fixture, '/v1/telephone-encounters/actions', { emr_appointment_id: '999999', text: 'Called.' }),
  ],
  [
    'a field that the practice requires since the last sync',
    'emr_validation',
    () =>
      whileChanged('settings', 'requiredPatientFields', { value: ['homePhone'] }, { value: [] }, () =>
        createPatient(newPerson()),
      ),
  ],
  [
    'a staff member who has left since the last sync',
    'record_inactive',
    () =>
      whileChanged('staff', '704', { activeFlag: 'N' }, { activeFlag: 'Y' }, () =>
        completeCall(fixture, { assigned_to_id: '704' }),
      ),
  ],
  [
    'a rejection for another reason',
    'emr_refused',
    async () => {
      await setFault(fixture.api, 'create_patient', 'refuse', { reason: 'The desk is closed.' });
      return createPatient(newPerson());
    },
  ],
];

describe('the failure code of', () => {
  test.each(situations)('%s is %s in the job and the event', async (_what, code, run) => {
    const { accepted, event } = await run();
    const { status, attempts, error } = await fixture.api.job(accepted.job_id);
    expect({ status, attempts, code: error.code }).toStrictEqual({ status: 'failed', attempts: 1, code });
    // Events whose fields the specification lists have no reasons.
    const { reasons = [{ code, description: error.message }] } = event.data;
    expect(reasons).toStrictEqual([{ code, description: error.message }]);
  });
});

test('the dashboard has the code of a failed job in the list, and the step that failed in the timeline', async () => {
  const { accepted } = await createPatient(newPerson({ language: 'Klingon' }));
  const operator = await signInOperator(fixture);
  const { body } = await operator.get('clients/{client}/jobs?state=failed&page_size=1');
  expect(body.rows).toMatchObject([{ job_id: accepted.job_id, error_code: 'unknown_value' }]);
  const { job } = (await operator.get(`clients/{client}/jobs/${accepted.job_id}`)).body;
  expect(job).toMatchObject({ error_code: 'unknown_value', error: { code: 'unknown_value' } });
  expect(job.steps).toContainEqual(
    expect.objectContaining({ name: 'create_patient', kind: 'outcome', detail: { not_applied: 'unknown_value' } }),
  );
});
