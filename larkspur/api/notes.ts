import { Type } from 'typebox';
import { appointments } from '../charts/appointments.ts';
import {
  addPatientNote,
  addVisitNote,
  findMrnOfAppointment,
  listPatientNotes,
  listVisitNotes,
} from '../charts/notes.ts';
import { findMrn, patients } from '../charts/patients.ts';
import { EmrError } from '../errors.ts';
import { write } from '../http/operation.ts';
import { facilities } from '../practice/organizations.ts';
import { getRecord, requireActive } from '../records/recordKind.ts';
import { listOfPatient } from './charts.ts';
import { optional, recordId, requiredText, writeBody } from './schemas.ts';

const NOTE_MAX = 100_000;
const section = optional(requiredText(NOTE_MAX));
const codes = Type.Optional(Type.Array(requiredText(20), { maxItems: 100 }));

export const noteOperations = [
  listOfPatient('list_visit_notes', 'visit-notes', listVisitNotes),
  listOfPatient('list_patient_notes', 'notes', listPatientNotes),
  write({
    name: 'add_visit_note',
    path: '/api/appointments/:appointmentId/notes',
    body: writeBody({
      text: optional(requiredText(NOTE_MAX)),
      sections: optional(
        Type.Object(
          { subjective: section, objective: section, assessment: section, plan: section },
          { additionalProperties: false },
        ),
      ),
      icdCodes: codes,
      cptCodes: codes,
    }),
    patientMrn: (sql, params) => findMrnOfAppointment(sql, params.appointmentId),
    write: async ({ sql, context, session, params, body }) => {
      const { appointmentId, patientId } = await getRecord(sql, appointments, params.appointmentId);
      const { text = null, sections = null, icdCodes = [], cptCodes = [] } = body;
      if ((text === null) === (sections === null)) {
        throw new EmrError('RULE_BROKEN', 'A note has either a text or sections.');
      }
      if (sections === null && icdCodes.length + cptCodes.length > 0) {
        throw new EmrError('RULE_BROKEN', 'Only a note with sections has codes.');
      }
      const { subjective = null, objective = null, assessment = null, plan = null } = sections ?? {};
      const note = { text, sections: sections && { subjective, objective, assessment, plan }, icdCodes, cptCodes };
      const row = { ...note, appointmentId, patientId, createdAt: context.now(), createdBy: session.displayName };
      const record_id = await addVisitNote(sql, row);
      const after = { ...note, icdCodes: icdCodes.join(', '), cptCodes: cptCodes.join(', '), appointmentId };
      return { record_id, changes: [{ record: 'visit note', record_id, patient_id: patientId, after }] };
    },
  }),
  write({
    name: 'add_patient_note',
    path: '/api/patients/:patientId/notes',
    body: writeBody({ subject: requiredText(32_000), text: requiredText(NOTE_MAX), facilityId: recordId }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body: { subject, text, facilityId } }) => {
      await getRecord(sql, patients, patientId);
      await requireActive(sql, facilities, facilityId);
      const note = { subject, text, facilityId };
      const row = { ...note, patientId, createdAt: context.now(), createdBy: session.displayName };
      const record_id = await addPatientNote(sql, row);
      return { record_id, changes: [{ record: 'patient note', record_id, patient_id: patientId, after: note }] };
    },
  }),
];
