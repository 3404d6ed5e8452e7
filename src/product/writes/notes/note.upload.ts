import { apiError } from '../../../catalog/errors.ts';
import type { EventOf } from '../../../model/events.ts';
import { NoteRequest } from '../../../model/requests/notes.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { createAppointment } from '../appointments/appointment.create.ts';
import { defineWrite, failureFields, notOffered } from '../defineWrite.ts';
import { laneKey, patientLane } from '../patients/patientLane.ts';
import { requireSupported } from '../requestWrite.ts';

const step = 'add_note';

/** Adds a note to a visit: a text, or sections with codes where the EMR has structured notes. */
export const uploadNote = defineWrite({
  type: 'note.upload',
  label: 'Visit note',
  plural_label: 'Notes',
  body: NoteRequest,
  independent: true,
  sample: {
    appointment_id: '01a1c5f0a4e87b21b3d94c6f7a8e9012',
    note: 'Cough for three days. Lungs clear.\nFluids, return if it gets worse.',
  },
  needs: ['addVisitNote'],
  restricted: false,
  stored_by: 'addVisitNote',
  check: checkReferences,
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Note upload queued. A webhook event follows on completion.',
    note_id: id,
    job_id,
  }),
  run: async ({ id, input, emr, steps }) => {
    const { note, appointment_ehr_id, icd_10_codes = [], cpt_codes = [] } = input;
    if (typeof note === 'string') {
      const added = await steps.write(step, emr.addVisitNote, { appointment_ehr_id, text: note });
      return { event: uploaded(id, input, added) };
    }
    if (!emr.addStructuredNote) throw notOffered('addStructuredNote');
    const structured = { appointment_ehr_id, sections: note, icd_10_codes, cpt_codes };
    return { event: uploaded(id, input, await steps.write(step, emr.addStructuredNote, structured)) };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const added = outcomes.get(step);
    if (added) return { state: 'succeeded', event: uploaded(id, input, added) };
    const data = { ...noteFields(id, input), ...failureFields(failure) };
    return { state: 'failed', event: { type: 'note.failed', data } };
  },
});

type NoteInput = NoteRequest & { appointment_ehr_id: string; patient_mrn: string | null };

function noteFields(id: string, { appointment_id, patient_mrn }: NoteInput) {
  return { note_id: id, appointment_id, patient_mrn };
}

function uploaded(id: string, input: NoteInput, added: { ehr_id?: unknown }): EventOf {
  const emr_ids = { emr_note_id: String(added.ehr_id), ehr_appointment_id: input.appointment_ehr_id };
  return { type: 'note.uploaded', data: { ...noteFields(id, input), ...emr_ids } };
}

type Request = { ctx: Context; account: Account; body: NoteRequest };
type Visit = { ehr_id: string | null; patient_mrn: string | null; patient_id: string | null };

async function checkReferences({ ctx, account, body }: Request) {
  const { appointment_id, note } = body;
  if (typeof note === 'string') rejectCodes(body);
  else {
    requireSupported(ctx, account, {
      plural_label: 'Structured notes',
      needs: ['addStructuredNote'],
      restricted: true,
    });
    if (Object.values(note).every((each) => each === undefined)) {
      throw apiError('missing_field', { field: 'note' }, { field: 'note' });
    }
  }
  const { client_id, organization_id } = account;
  const [visit] = await ctx.db.read<Visit>(
    client_id,
    (sql) => sql`
      SELECT ehr_id, patient_mrn, (SELECT id FROM patients WHERE patients.client_id = ${client_id}
          AND patients.organization_id = ${organization_id} AND patients.mrn = visit.patient_mrn ORDER BY id LIMIT 1
        ) AS patient_id
        FROM (
          SELECT ehr_id, patient_mrn FROM appointments WHERE id = ${appointment_id}
             AND client_id = ${client_id} AND organization_id = ${organization_id}
          UNION ALL
          SELECT NULL, patient_mrn FROM operations WHERE id = ${appointment_id} AND client_id = ${client_id}
             AND organization_id = ${organization_id} AND type = ${createAppointment.type}
        ) AS visit ORDER BY ehr_id NULLS LAST LIMIT 1`,
  );
  const field = 'appointment_id';
  if (!visit) throw apiError('record_not_found', { noun: 'Appointment', id: appointment_id }, { field });
  const { ehr_id: appointment_ehr_id, patient_mrn } = visit;
  if (appointment_ehr_id === null) throw apiError('appointment_not_in_emr', undefined, { field });
  const lane =
    patient_mrn === null
      ? { key: laneKey('appointment', appointment_ehr_id) }
      : patientLane(patient_mrn, visit.patient_id);
  return { lane, lookups: { appointment_ehr_id, patient_mrn } };
}

function rejectCodes({ icd_10_codes = [], cpt_codes = [] }: NoteRequest): void {
  const field = icd_10_codes.length > 0 ? 'icd_10_codes' : cpt_codes.length > 0 ? 'cpt_codes' : undefined;
  if (field) throw apiError('invalid_field', { rule: `${field} requires a structured note` }, { field });
}
