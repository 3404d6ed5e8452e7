import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { uploadNote } from '../../../product/writes/notes/note.upload.ts';
import { createPatientNote } from '../../../product/writes/notes/patientNote.create.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export const notesCreate = writeEndpoint(uploadNote, {
  id: 'notes.create',
  group: 'Notes',
  method: 'POST',
  path: '/v1/notes',
  summary: 'Add a note to a visit',
  description:
    'Adds a note to the visit of an appointment. `note` is a text or, where the EMR has structured notes, an object with sections; only such a note has `icd_10_codes` and `cpt_codes`. The appointment must be in the EMR already.',
  response: Type.Object({ success, message: Type.String(), note_id: Type.String(), job_id: Type.Integer() }),
  errors: ['restricted_operation', 'operation_not_offered', 'record_not_found', 'appointment_not_in_emr'],
  events: ['note.uploaded', 'note.failed'],
  found_in: { appointment_id: 'sandbox#/appointment_id' },
});

export const patientNotesCreate = writeEndpoint(createPatientNote, {
  id: 'patient-notes.create',
  group: 'Notes',
  method: 'POST',
  path: '/v1/patient-notes',
  summary: 'Add a note to a chart',
  description: 'Adds a note to a patient’s chart that belongs to no visit.',
  response: Type.Object({ success, message: Type.String(), patient_note_id: Type.String(), job_id: Type.Integer() }),
  errors: ['operation_not_offered', 'location_not_found', 'first_sync_pending'],
  events: ['patient_note.created', 'patient_note.failed'],
});
