import { sync_type } from '../records/syncPasses.ts';
import { createAppointment } from './appointments/appointment.create.ts';
import type { RegisteredWrite } from './defineWrite.ts';
import { uploadDocument } from './documents/document.upload.ts';
import { addPatientInsurance } from './insurance/patientInsurance.add.ts';
import { updatePatientInsurance } from './insurance/patientInsurance.update.ts';
import { createPatient } from './patients/patient.create.ts';
import { fetchPatients } from './patients/patient.fetch.ts';
import { updatePatient } from './patients/patient.update.ts';
import { createTelephoneEncounter } from './telephone-encounters/telephoneEncounter.create.ts';
import { createTelephoneEncounterAction } from './telephone-encounters/telephoneEncounterAction.create.ts';

/** Every write of the service. */
export const writes: readonly RegisteredWrite[] = [
  createTelephoneEncounter,
  createTelephoneEncounterAction,
  uploadDocument,
  createAppointment,
  createPatient,
  updatePatient,
  addPatientInsurance,
  updatePatientInsurance,
  fetchPatients,
];

/** What a job of each type is called in the dashboard. */
export const job_labels: Readonly<Record<string, string>> = Object.fromEntries([
  ...writes.map(({ type, label }) => [type, label]),
  [sync_type, 'Sync'],
]);
