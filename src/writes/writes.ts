import { createAppointment } from './appointment.create.ts';
import { uploadDocument } from './document.upload.ts';
import { createPatient } from './patient.create.ts';
import { fetchPatients } from './patient.fetch.ts';
import { updatePatient } from './patient.update.ts';
import { addPatientInsurance } from './patientInsurance.add.ts';
import { updatePatientInsurance } from './patientInsurance.update.ts';
import { createTelephoneEncounter } from './telephoneEncounter.create.ts';
import { createTelephoneEncounterAction } from './telephoneEncounterAction.create.ts';
import type { Carried } from './write.ts';

/** Every write the service carries out. */
export const writes = [
  createTelephoneEncounter,
  createTelephoneEncounterAction,
  uploadDocument,
  createAppointment,
  createPatient,
  updatePatient,
  addPatientInsurance,
  updatePatientInsurance,
  fetchPatients,
] as unknown as readonly Carried[];
