import { apiError } from '../../../catalog/errors.ts';
import type { EventOf } from '../../../model/events.ts';
import { PatientNoteRequest } from '../../../model/requests/notes.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { referenceError } from '../../records/readRecords.ts';
import { defineWrite, failureFields, patientNotFound } from '../defineWrite.ts';
import { patientIdByMrn, patientLane } from '../patients/patientLane.ts';

const step = 'add_patient_note';

/** Adds a note to a patient's chart, outside of visits. */
export const createPatientNote = defineWrite({
  type: 'patient_note.create',
  label: 'Patient note',
  plural_label: 'Patient notes',
  body: PatientNoteRequest,
  independent: true,
  sample: {
    note: 'Prefers calls in the morning.',
    subject: 'Contact',
    patient_mrn: 'LK100001',
    location_id: '11',
  },
  needs: ['addPatientNote', 'findPatient'],
  restricted: false,
  stored_by: 'addPatientNote',
  check: checkReferences,
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Patient note creation queued. A webhook event follows on completion.',
    patient_note_id: id,
    job_id,
  }),
  run: async ({ id, input, emr, steps }) => {
    const earlier = steps.outcomes.get(step);
    if (earlier) return { event: created(id, input, earlier) };
    const patient = await emr.findPatient(input.patient_mrn);
    if (!patient) throw patientNotFound(input.patient_mrn);
    const note = await steps.write(step, emr.addPatientNote, {
      patient_ehr_id: patient.ehr_id,
      location_ehr_id: input.location_id,
      subject: input.subject,
      text: input.note,
    });
    return { event: created(id, input, note) };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const note = outcomes.get(step);
    if (note) return { state: 'succeeded', event: created(id, input, note) };
    const data = { patient_note_id: id, patient_mrn: input.patient_mrn, ...failureFields(failure) };
    return { state: 'failed', event: { type: 'patient_note.failed', data } };
  },
});

function created(id: string, body: PatientNoteRequest, note: { ehr_id?: unknown }): EventOf {
  const { patient_mrn, subject, location_id } = body;
  const data = { patient_note_id: id, emr_patient_note_id: String(note.ehr_id), patient_mrn, subject, location_id };
  return { type: 'patient_note.created', data };
}

async function checkReferences({ ctx, account, body }: { ctx: Context; account: Account; body: PatientNoteRequest }) {
  const { client_id, organization_id } = account;
  const [references] = await ctx.db.read<{ location: boolean; patient_id: string | null }>(
    client_id,
    (sql) => sql`SELECT
      EXISTS (SELECT FROM locations WHERE client_id = ${client_id} AND organization_id = ${organization_id}
        AND ehr_id = ${body.location_id}) AS location,
      ${patientIdByMrn(sql, account, body.patient_mrn)} AS patient_id`,
  );
  if (!references?.location) {
    const unknown = apiError('location_not_found', { id: body.location_id }, { field: 'location_id' });
    throw await referenceError(ctx.db, account, ['locations'], unknown);
  }
  return { lane: patientLane(body.patient_mrn, references.patient_id), lookups: {} };
}
