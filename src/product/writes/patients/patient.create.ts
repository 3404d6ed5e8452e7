import { newId } from '../../../catalog/ids.ts';
import type { EventOf } from '../../../model/events.ts';
import { patients } from '../../../model/records/patients.ts';
import { PatientRequest } from '../../../model/requests/patients.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import { insertPending, lockPatient, savePatient } from '../../records/patients.ts';
import { removeSyncedDuplicate } from '../../records/storeRecords.ts';
import { defineWrite, type FinishedWrite, failureFields } from '../defineWrite.ts';
import { readInsurances } from '../insurance/insuranceReferences.ts';
import {
  checkPatient,
  type PatientInput,
  requestedCoverages,
  restricted_on_create,
  toNewPatient,
  toPatientRecord,
} from './patientInput.ts';
import { patientRerun } from './patientLane.ts';
import { type References, selectReferences } from './patientReferences.ts';
import { findChanges, queueUpdate } from './patientUpdates.ts';

const step = 'create_patient';

/** Creates a chart in the EMR. The operation's id is the patient's id, so every run uses the same marker. */
export const createPatient = defineWrite({
  type: 'patient.create',
  label: 'New patient',
  plural_label: 'New patients',
  body: PatientRequest,
  // Not one of the sandbox's patients: a duplicate would be rejected.
  sample: {
    first_name: 'Nova',
    last_name: 'Newcomer',
    dob: '1990-05-14',
    sex: 'female',
    phone: '518-555-0191',
    email: 'nova.newcomer@example.org',
    address_street: '5 Placeholder Lane',
    address_city: 'Exampleton',
    address_state: 'NY',
    address_zip: '12999',
  },
  needs: ['createPatient'],
  restricted: false,
  stored_by: 'createPatient',
  restricted_fields: restricted_on_create,
  check: async ({ ctx, account, body }) => {
    const [references] = await ctx.db.read<References>(account.client_id, (sql) =>
      selectReferences(sql, account.organization_id, body),
    );
    if (!references) throw new Error('A query without FROM returned no row.');
    // No other job can concern this patient yet, so the job gets a lane of its own.
    return { lane: { key: `new:${newId()}` }, lookups: { resolved: checkPatient(references, body) } };
  },
  onAccepted: ({ tx, account: { client_id, organization_id }, id, input }) =>
    insertPending(tx, { client_id, organization_id }, id, toPatientRecord(input)),
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Patient creation queued. A webhook event follows on completion.',
    patient_id: id,
    job_id,
    data: { patient_id: id, job_id },
  }),
  run: async ({ id, input, emr, steps, scope }) => {
    // If an earlier attempt may have sent the patient, send the same values again, even if the client has changed them.
    const sent = sentPatient(steps) ?? input;
    const outcome = await steps.write(step, emr.createPatient, toNewPatient(sent), { with_intent: sent });
    const event = created(id, outcome);
    if (requestedCoverages(sent).every((coverage) => coverage === undefined)) return { event };
    return { event, ...(await readInsurances(emr, { id, ehr_id: String(outcome.ehr_id) }, scope)) };
  },
  onFailure: ({ id, outcomes, failure }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: created(id, done) };
    const duplicate = failure.details?.duplicate_patient_mrn;
    const data = {
      patient_id: id,
      ...failureFields(failure),
      ...(duplicate === undefined ? {} : { duplicate_patient_mrn: String(duplicate) }),
    };
    return { state: 'failed', event: { type: 'patient.failed', data } };
  },
  onFinished: storeCreation,
  rerun: patientRerun(
    ({ operation_id }) => operation_id,
    ({ doc, open_updates }) => (doc.status === 'failed' ? { status: 'pending', open_updates } : undefined),
  ),
});

function created(patient_id: string, outcome: Record<string, unknown>): EventOf {
  return { type: 'patient.created', data: { patient_id, mrn: String(outcome.mrn) } };
}

/** The patient as it was, or may have been, sent to the EMR: `run` stored it with the step's intent. */
function sentPatient(steps: Pick<Steps, 'intentData'>): PatientInput | undefined {
  return steps.intentData(step) as PatientInput | undefined;
}

/** Sets the patient to active or failed. Changes made since the patient was sent to the EMR are queued as an update. */
async function storeCreation({ tx, ctx, job, ...steps }: FinishedWrite<PatientInput>): Promise<void> {
  const { client_id, organization_id, account_id, operation_id: id } = job;
  const of = { client_id, organization_id };
  const row = await lockPatient(tx, organization_id, id);
  if (!row) return;
  const outcome = steps.outcomes.get(step);
  if (!outcome) {
    await savePatient(tx, of, row, { status: 'failed' });
    return;
  }
  const sent = sentPatient(steps);
  if (!sent) throw new Error('A created patient has no stored intent.');
  const ehr_id = String(outcome.ehr_id);
  await removeSyncedDuplicate(tx, { ...of, kind: patients }, { id, ehr_id });
  const chart = { ...toPatientRecord(sent), ehr_id, mrn: String(outcome.mrn) };
  const active = await savePatient(tx, of, row, { ...chart, status: 'active' });
  const [latest] = await tx<{ input: PatientInput; connector: string }[]>`
    SELECT input, (SELECT connector FROM organizations WHERE id = ${organization_id}) AS connector
      FROM operations WHERE id = ${id}`;
  const changes = latest && (await findChanges(tx, organization_id, sent, latest.input));
  if (!changes) return;
  const account = { ...of, id: account_id, connector: latest.connector };
  await queueUpdate(ctx, tx, account, { patient: active, change: changes, reference: latest.input.amended_by ?? null });
}
