import { randomInt } from 'node:crypto';
import type { Scene, TriggerRequests } from './scene.ts';

export const appointment_requests = {
  appointment: async (scene) => {
    const body = await appointment(scene, freeTime());
    return { send: () => scene.client.appointments.createAndWait(body) };
  },
  blocked_appointment: async (scene) => {
    const time = freeTime();
    const [year, month, day] = time.date.split('-');
    const body = { ...(await appointment(scene, time)), prevent_double_booking: 'true' as const };
    const { blockId } = await scene.control<{ blockId: string }>('POST', '/control/blocks', {
      ...{ providerId: scene.sandbox.example.provider_id, minutes: 60, reason: 'Meeting' },
      startsAt: `${month}/${day}/${year} ${time.time.slice(0, 5)}`,
    });
    return {
      send: () => scene.client.appointments.createAndWait(body),
      undo: () => scene.control('DELETE', `/control/blocks/${blockId}`),
    };
  },
  appointment_update: async (scene) => {
    const id = await booked(scene);
    return { send: () => scene.client.appointments.updateAndWait(id, { note: `Triggered ${randomInt(1e6)}` }) };
  },
  appointment_cancellation: async (scene) => {
    const id = await booked(scene);
    return { send: () => scene.client.appointments.updateAndWait(id, { status: 'cancelled' }) };
  },
  appointment_fetch: async ({ client, sandbox }) => {
    const search = { search_by: 'mrn', mrn: sandbox.example.patient_mrn } as const;
    return {
      send: () => client.appointments.fetchAndWait(search),
      meanwhile: { start: (other) => other.appointments.fetch(search) },
    };
  },
  availability_fetch: async ({ client, sandbox }) => {
    const start_date = new Date().toISOString().slice(0, 10);
    const search = { start_date, end_date: start_date, provider_ids: [sandbox.example.provider_id] };
    return {
      send: () => client.availability.fetchAndWait(search),
      meanwhile: { start: (other) => other.availability.fetch(search) },
    };
  },
} satisfies TriggerRequests;

/** The ID of a new appointment, whose event is sent too. */
async function booked(scene: Scene): Promise<string> {
  const { data } = await scene.client.appointments.createAndWait(await createBooking(scene));
  return data.appointment_id;
}

/** A booking at a free time. */
export function createBooking(scene: Scene) {
  return appointment(scene, freeTime());
}

/** In two years, when nothing is seeded, so that the schedule people look at stays as it is. */
function freeTime(): { date: string; time: string } {
  const day = new Date(Date.UTC(new Date().getUTCFullYear() + 2, 6, randomInt(1, 29))).toISOString();
  return { date: day.slice(0, 10), time: `${randomInt(10, 12)}:${randomInt(10, 60)} am` };
}

async function appointment({ client, sandbox }: Scene, time: { date: string; time: string }) {
  const { visit_types } = await client.visitTypes.list();
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = sandbox.example;
  return { mrn, location, provider, type: visit_types[0]?.code ?? '', ...time };
}

/** Books an appointment that has no claim yet, and returns its ID. */
export async function billedVisit(scene: Scene): Promise<string> {
  const event = await scene.client.appointments.createAndWait(await appointment(scene, freeTime()));
  return event.data.appointment_id;
}
