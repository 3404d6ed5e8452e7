import { Type } from 'typebox';
import { nullable } from '../fields.ts';
import { type EventKinds, reasons, refusal } from './event.ts';

const note = {
  note_id: Type.String(),
  appointment_id: Type.String(),
  patient_mrn: nullable(Type.String()),
};
const patient_note = { patient_note_id: Type.String(), patient_mrn: Type.String() };

export const note_events = {
  'note.uploaded': {
    summary: 'The note was added to the visit.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'note' },
    data: Type.Object(
      { ...note, emr_note_id: Type.String(), ehr_appointment_id: Type.String() },
      { schema_name: 'Note', description: 'A note on a visit in the EMR' },
    ),
  },
  'note.failed': {
    summary: 'The note was not added to the visit, or its outcome is unknown.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'note', fault: refusal('add_visit_note') },
    data: Type.Object({ ...note, failure_reason: Type.String(), reasons }),
  },
  'patient_note.created': {
    summary: 'The note was added to the patient’s chart.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'patient_note' },
    data: Type.Object(
      {
        ...patient_note,
        emr_patient_note_id: Type.String(),
        subject: Type.String({ description: 'Title of the note', examples: ['Contact'] }),
        location_id: Type.String(),
      },
      { schema_name: 'PatientNote', description: 'A note in a patient’s chart in the EMR' },
    ),
  },
  'patient_note.failed': {
    summary: 'The note was not added to the patient’s chart, or its outcome is unknown.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'patient_note', fault: refusal('add_patient_note') },
    data: Type.Object({ ...patient_note, failure_reason: Type.String(), reasons }),
  },
} as const satisfies EventKinds;
