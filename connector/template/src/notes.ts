import type { Operations } from '@chartwire/connector';
import { defineWrite, type ExampleEmrOperation } from './operation.js';
import { path } from './session.js';

const addPatientNote = defineWrite<Operations['addPatientNote']>(
  ({ patient_ehr_id, location_ehr_id, subject, text }) => ({
    path: path`/api/patients/${patient_ehr_id}/notes`,
    body: { locationId: location_ehr_id, subject, text },
  }),
  ({ id }) => ({ ehr_id: id }),
);

export const note_operations: readonly ExampleEmrOperation[] = [{ operation: 'addPatientNote', open: addPatientNote }];
