import type { Operations } from '../operations/operations.ts';
import { path } from './call.ts';
import { defineWrite, type LarkspurOperation, toWritten } from './operation.ts';

const addVisitNote = defineWrite<Operations['addVisitNote']>(
  'add_visit_note',
  (input) => ({ path: path`/api/appointments/${input.appointment_ehr_id}/notes`, body: { text: input.text } }),
  toWritten,
);

const addStructuredNote = defineWrite<Operations['addStructuredNote']>(
  'add_visit_note',
  (input) => ({
    path: path`/api/appointments/${input.appointment_ehr_id}/notes`,
    body: { sections: input.sections, icdCodes: input.icd_10_codes, cptCodes: input.cpt_codes },
  }),
  toWritten,
);

const addPatientNote = defineWrite<Operations['addPatientNote']>(
  'add_patient_note',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/notes`,
    body: { subject: input.subject, text: input.text, facilityId: input.location_ehr_id },
  }),
  toWritten,
);

export const note_operations: readonly LarkspurOperation[] = [
  { operation: 'addVisitNote', open: addVisitNote },
  { operation: 'addStructuredNote', open: addStructuredNote },
  { operation: 'addPatientNote', open: addPatientNote },
];
