import { createAppointment } from './appointment.create.ts';
import { uploadDocument } from './document.upload.ts';
import { fetchPatients } from './patient.fetch.ts';
import { createTelephoneEncounter } from './telephoneEncounter.create.ts';
import { createTelephoneEncounterAction } from './telephoneEncounterAction.create.ts';
import type { Write } from './write.ts';

/** Every write the service carries out. */
export const writes = [
  createTelephoneEncounter,
  createTelephoneEncounterAction,
  uploadDocument,
  createAppointment,
  fetchPatients,
] as unknown as readonly Write[];
