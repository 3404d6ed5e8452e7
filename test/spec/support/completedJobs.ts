import { expect } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { endPauses, endRetries, setFault, until } from '../../journeys/support.ts';
import { documentForm } from '../documents/documentForm.ts';

/** An accepted request and the event of its finished job. */
export type Completed = { accepted: ApiResponse['body']; event: ApiResponse['body'] };

/** Sends a request and waits for the event of its job. */
export async function complete(
  fixture: TestSandbox,
  path: string,
  body: Record<string, unknown>,
  method: 'POST' | 'PATCH' = 'POST',
): Promise<Completed> {
  const response = await fixture.api.call(method, path, { body });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return { accepted: response.body, event: await fixture.api.untilEvent(response.body.job_id) };
}

export async function completeCall(fixture: TestSandbox, fields: Record<string, unknown> = {}): Promise<Completed> {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
  const body = { patient_mrn, provider_id, location_id, assigned_to_id, ...fields };
  return complete(fixture, '/v1/telephone-encounters', body);
}

/** A day without seeded appointments, in July, when New York is four hours behind UTC. */
export const free_day = `${new Date().getUTCFullYear() + 2}-07-09`;

export async function completeBooking(fixture: TestSandbox, fields: Record<string, unknown> = {}): Promise<Completed> {
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = fixture.sandbox.example;
  const body = { mrn, location, provider, type: 'FU', datetime: `${free_day}T09:30:00-04:00`, ...fields };
  return complete(fixture, '/v1/appointments', body);
}

export async function completeUpload(fixture: TestSandbox, fields: Record<string, string> = {}): Promise<Completed> {
  const form = documentForm(fixture);
  const { body } = await form.upload(fields);
  return { accepted: body, event: await form.untilEvent(body.document_id) };
}

/** The reason that the EMR gives in `rejectedWrites`. */
export const rejection_reason = 'The chart is closed today.';

/** For each kind of write, a request that is accepted and then rejected by the EMR. */
export const rejectedWrites = {
  'telephone_encounter.failed': async (fixture: TestSandbox) => {
    await setFault(fixture.api, 'create_telephone_encounter', 'refuse', { reason: rejection_reason });
    return completeCall(fixture);
  },
  'telephone_encounter_action.failed': async (fixture: TestSandbox) => {
    const { event } = await completeCall(fixture);
    await setFault(fixture.api, 'add_telephone_action', 'refuse', { reason: rejection_reason });
    const body = { emr_appointment_id: event.data.emr_encounter_id, text: 'Called back.' };
    return complete(fixture, '/v1/telephone-encounters/actions', body);
  },
  'document.upload_failed': async (fixture: TestSandbox) => {
    await setFault(fixture.api, 'upload_document', 'refuse', { reason: rejection_reason });
    return completeUpload(fixture);
  },
  'appointment.failed': async (fixture: TestSandbox) => {
    await setFault(fixture.api, 'create_appointment', 'refuse', { reason: rejection_reason });
    return completeBooking(fixture);
  },
  'patient.failed': async (fixture: TestSandbox) => {
    await setFault(fixture.api, 'create_patient', 'refuse', { reason: rejection_reason });
    return complete(fixture, '/v1/patients', {
      first_name: 'Nova',
      last_name: 'Rejected',
      dob: '2004-02-29',
      sex: 'female',
    });
  },
  'patient.update_failed': async (fixture: TestSandbox) => {
    await setFault(fixture.api, 'update_patient', 'refuse', { reason: rejection_reason });
    return complete(fixture, `/v1/patients/${await examplePatientId(fixture)}`, { email: 'new@example.test' }, 'PATCH');
  },
  'patient.insurance.failed': async (fixture: TestSandbox) => {
    await setFault(fixture.api, 'add_patient_insurance', 'refuse', { reason: rejection_reason });
    const { patient_mrn } = fixture.sandbox.example;
    return complete(fixture, `/v1/patients/${patient_mrn}/insurances`, {
      member_id: 'M1',
      insurance_name: 'Mock Mutual',
    });
  },
} as const;

/** The service's id of the example patient. */
export async function examplePatientId(fixture: TestSandbox): Promise<string> {
  const { body } = await fixture.api.call('GET', `/v1/patients?mrn=${fixture.sandbox.example.patient_mrn}`);
  return body.patients[0].id;
}

/** A live fetch that failed because the EMR did not respond for an hour. */
export async function failedFetch(fixture: TestSandbox): Promise<Completed> {
  return exhaustRetries(fixture, '/v1/patients/fetch', { search_by: 'mrn', mrn: fixture.sandbox.example.patient_mrn });
}

/** A sync that failed because the EMR did not respond for an hour. */
export async function failedSync(fixture: TestSandbox): Promise<Completed> {
  return exhaustRetries(fixture, '/v1/sync', {});
}

async function exhaustRetries(fixture: TestSandbox, path: string, body: Record<string, unknown>): Promise<Completed> {
  await setFault(fixture.api, 'list_patients', 'error_500', { times: 50 });
  const { body: accepted } = await fixture.api.call('POST', path, { body });
  await until('the first attempt to fail', async () => (await fixture.api.job(accepted.job_id)).error);
  await endRetries(fixture.owner, accepted.job_id);
  await endPauses(fixture.owner);
  const event = await fixture.api.untilEvent(accepted.job_id);
  await fixture.api.control('DELETE', '/control/faults');
  return { accepted, event };
}
