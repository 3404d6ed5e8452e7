import { expect } from 'vitest';
import type { Answer } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { endPauses, endRetries, setFault, until } from '../../journeys/journey.ts';
import { documentForm } from '../documents/documentForm.ts';

/** A request that was accepted, and the event that told its end. */
export type Ended = { accepted: Answer['body']; event: Answer['body'] };

/** Sends a request and waits for the event of its job. */
export async function ended(
  world: TestSandbox,
  path: string,
  body: Record<string, unknown>,
  method: 'POST' | 'PATCH' = 'POST',
): Promise<Ended> {
  const answer = await world.api.call(method, path, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return { accepted: answer.body, event: await world.api.untilEvent(answer.body.job_id) };
}

export async function endedCall(world: TestSandbox, fields: Record<string, unknown> = {}): Promise<Ended> {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = world.sandbox.example;
  const body = { patient_mrn, provider_id, location_id, assigned_to_id, ...fields };
  return ended(world, '/v1/telephone-encounters', body);
}

/** Far enough ahead for the seed to hold nothing there; in July, when New York is four hours behind UTC. */
export const free_day = `${new Date().getUTCFullYear() + 2}-07-09`;

export async function endedBooking(world: TestSandbox, fields: Record<string, unknown> = {}): Promise<Ended> {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = world.sandbox.example;
  const body = { mrn, location, provider, type: 'FU', datetime: `${free_day}T09:30:00-04:00`, ...fields };
  return ended(world, '/v1/appointments', body);
}

export async function endedUpload(world: TestSandbox, fields: Record<string, string> = {}): Promise<Ended> {
  const form = documentForm(world);
  const { body } = await form.upload(fields);
  return { accepted: body, event: await form.untilEvent(body.document_id) };
}

/** Why the EMR refuses what is asked of it in `refusedWrites`. */
export const refused_because = 'The chart is closed today.';

/** One failure after acceptance of each kind of request that writes to the EMR. */
export const refusedWrites = {
  'telephone_encounter.failed': async (world: TestSandbox) => {
    await setFault(world.api, 'create_telephone_encounter', 'refuse', { reason: refused_because });
    return endedCall(world);
  },
  'telephone_encounter_action.failed': async (world: TestSandbox) => {
    const { event } = await endedCall(world);
    await setFault(world.api, 'add_telephone_action', 'refuse', { reason: refused_because });
    const body = { emr_appointment_id: event.data.emr_encounter_id, text: 'Called back.' };
    return ended(world, '/v1/telephone-encounters/actions', body);
  },
  'document.upload_failed': async (world: TestSandbox) => {
    await setFault(world.api, 'upload_document', 'refuse', { reason: refused_because });
    return endedUpload(world);
  },
  'appointment.failed': async (world: TestSandbox) => {
    await setFault(world.api, 'create_appointment', 'refuse', { reason: refused_because });
    return endedBooking(world);
  },
  'patient.failed': async (world: TestSandbox) => {
    await setFault(world.api, 'create_patient', 'refuse', { reason: refused_because });
    return ended(world, '/v1/patients', {
      first_name: 'Nova',
      last_name: 'Newcomer',
      dob: '2004-02-29',
      sex: 'female',
    });
  },
  'patient.update_failed': async (world: TestSandbox) => {
    await setFault(world.api, 'update_patient', 'refuse', { reason: refused_because });
    return ended(world, `/v1/patients/${await patientIdOf(world)}`, { email: 'new@example.test' }, 'PATCH');
  },
  'patient.insurance.failed': async (world: TestSandbox) => {
    await setFault(world.api, 'add_patient_insurance', 'refuse', { reason: refused_because });
    const { patient_mrn } = world.sandbox.example;
    return ended(world, `/v1/patients/${patient_mrn}/insurances`, { member_id: 'M1', insurance_name: 'Mock Mutual' });
  },
} as const;

/** The service's own id of the example's patient. */
export async function patientIdOf(world: TestSandbox): Promise<string> {
  const { body } = await world.api.call('GET', `/v1/patients?mrn=${world.sandbox.example.patient_mrn}`);
  return body.patients[0].id;
}

/** A live fetch that the EMR did not answer for an hour. */
export async function failedFetch(world: TestSandbox): Promise<Ended> {
  return givenUp(world, '/v1/patients/fetch', { search_by: 'mrn', mrn: world.sandbox.example.patient_mrn });
}

/** A sync that the EMR did not answer for an hour. */
export async function failedSync(world: TestSandbox): Promise<Ended> {
  return givenUp(world, '/v1/sync', {});
}

async function givenUp(world: TestSandbox, path: string, body: Record<string, unknown>): Promise<Ended> {
  await setFault(world.api, 'list_patients', 'error_500', { times: 50 });
  const { body: accepted } = await world.api.call('POST', path, { body });
  await until('the first try to fail', async () => (await world.api.job(accepted.job_id)).error);
  await endRetries(world.owner, accepted.job_id);
  await endPauses(world.owner);
  const event = await world.api.untilEvent(accepted.job_id);
  await world.api.control('DELETE', '/control/faults');
  return { accepted, event };
}
