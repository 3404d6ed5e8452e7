import { StartFailure } from '../../../catalog/errors.ts';
import { createBooking } from './appointments.ts';
import type { TriggerRequests } from './scene.ts';

export const note_requests = {
  note: async (scene) => {
    const booked = await scene.client.appointments.createAndWait(await createBooking(scene));
    const appointment_id = (booked?.data as { appointment_id?: string } | undefined)?.appointment_id;
    if (appointment_id === undefined) throw new StartFailure('The appointment for the note was not booked.');
    const body = { appointment_id, note: 'Triggered note.\nSent by chartwire trigger.' };
    return { send: () => scene.client.notes.createAndWait(body) };
  },
  patient_note: async (scene) => {
    const { patient_mrn, location_id } = scene.sandbox.example;
    const body = { patient_mrn, location_id, subject: 'Triggered note', note: 'Sent by chartwire trigger.' };
    return { send: () => scene.client.patientNotes.createAndWait(body) };
  },
} satisfies TriggerRequests;
