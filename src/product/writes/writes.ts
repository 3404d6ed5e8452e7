import { sync_type } from '../records/syncPasses.ts';
import { createAppointment } from './appointments/appointment.create.ts';
import { fetchAppointments } from './appointments/appointment.fetch.ts';
import { updateAppointment } from './appointments/appointment.update.ts';
import { fetchAvailability } from './appointments/availability.fetch.ts';
import { createClaim } from './billing/claim.create.ts';
import { postPayment } from './billing/payment.post.ts';
import type { RegisteredWrite } from './defineWrite.ts';
import { uploadDocument } from './documents/document.upload.ts';
import { addPatientInsurance } from './insurance/patientInsurance.add.ts';
import { updatePatientInsurance } from './insurance/patientInsurance.update.ts';
import { uploadNote } from './notes/note.upload.ts';
import { createPatientNote } from './notes/patientNote.create.ts';
import { createPatient } from './patients/patient.create.ts';
import { fetchPatients } from './patients/patient.fetch.ts';
import { updatePatient } from './patients/patient.update.ts';
import { createReferral } from './referrals/referral.create.ts';
import { createReferringProvider } from './referrals/referringProvider.create.ts';
import { createTask } from './tasks/task.create.ts';
import { createTaskNote } from './tasks/taskNote.create.ts';
import { createTelephoneEncounter } from './telephone-encounters/telephoneEncounter.create.ts';
import { createTelephoneEncounterAction } from './telephone-encounters/telephoneEncounterAction.create.ts';

/** Every write of the service. */
export const writes: readonly RegisteredWrite[] = [
  createTelephoneEncounter,
  createTelephoneEncounterAction,
  uploadDocument,
  postPayment,
  createTask,
  createTaskNote,
  uploadNote,
  createPatientNote,
  createClaim,
  createReferringProvider,
  createReferral,
  createAppointment,
  updateAppointment,
  createPatient,
  updatePatient,
  addPatientInsurance,
  updatePatientInsurance,
  fetchPatients,
  fetchAppointments,
  fetchAvailability,
];

/** What a job of each type is called in the dashboard. */
export const job_labels: Readonly<Record<string, string>> = Object.fromEntries([
  ...writes.map(({ type, label }) => [type, label]),
  [sync_type, 'Sync'],
]);
