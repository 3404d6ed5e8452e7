import { randomInt } from 'node:crypto';
import type { EventType } from '../../../../sdk/src/generated/types.gen.ts';
import { StartFailure } from '../../../catalog/errors.ts';
import { type Prepared, patientInEmr, type Scene, type TriggeredEvent, type TriggerRequests } from './scene.ts';

type Appointment = { appointmentId: string; patientId: string; providerId: string; facilityId: string };

/** Changes that staff make in the EMR, each followed by a sync. */
export const staff_requests = {
  staff_appointment_status: (scene) => changeAppointment(scene, 'appointment.status_updated', { statusCode: 'CHK' }),
  staff_claim_change: async (scene) => {
    const { rows } = await scene.control<{ rows: { claimId: string }[] }>('GET', '/control/claims');
    const [claim] = rows;
    if (!claim) throw new StartFailure('Larkspur has no claims. Run: chartwire sandbox reset');
    const note = { billingNotes: `Trigger ${randomInt(1e9)}` };
    return prepare(scene, 'claim.updated', () => scene.control('PATCH', `/control/claims/${claim.claimId}`, note));
  },
  staff_order_result: async (scene) => {
    const { rows } = await scene.control<{ rows: { orderId: string }[] }>('GET', '/control/orders');
    const [order] = rows;
    if (!order) throw new StartFailure('Larkspur has no orders. Run: chartwire sandbox reset');
    const value = String(randomInt(1e9));
    const result = {
      labResults: {
        ...{ status: 'Final', collectedOn: '11/02/2026', resultedOn: '11/03/2026', laboratory: 'Example Lab' },
        results: [{ test: 'Trigger', value, unit: null, range: null, abnormalFlag: 'N' }],
      },
    };
    return prepare(scene, 'order.resulted', () => scene.control('PATCH', `/control/orders/${order.orderId}`, result));
  },
  staff_merge: async (scene) => {
    const [duplicate, surviving] = [await patientInEmr(scene), await patientInEmr(scene)];
    const merge = { intoPatientId: surviving.patientId };
    return prepare(scene, 'patient.merged', () =>
      scene.control('POST', `/control/patients/${duplicate.patientId}/merge`, merge),
    );
  },
  staff_document: async (scene) => {
    const { patientId } = await patientInEmr(scene);
    const document = {
      folderPath: 'Referrals',
      fileName: 'trigger.pdf',
      text: `%PDF-1.4\n%Trigger ${randomInt(1e9)}\n`,
    };
    return prepare(scene, 'document.added', () =>
      scene.control('POST', `/control/patients/${patientId}/documents`, document),
    );
  },
} satisfies TriggerRequests;

/** Changes an appointment that staff have just booked, so that its status and time are known. */
async function changeAppointment(scene: Scene, type: EventType, change: object): Promise<Prepared> {
  const { rows } = await scene.control<{ rows: Appointment[] }>('GET', '/control/appointments');
  const [example] = rows;
  if (!example) throw new StartFailure('Larkspur has no appointments. Run: chartwire sandbox reset');
  const { patientId, providerId, facilityId } = example;
  const [year, month, day] = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10).split('-');
  const startsAt = `${month}/${day}/${year} 06:${10 + randomInt(45)}`;
  const booked = { patientId, providerId, facilityId, startsAt };
  const { appointmentId } = await scene.control<Appointment>('POST', '/control/appointments', booked);
  const path = `/control/appointments/${appointmentId}`;
  const prepared = await prepare(scene, type, () => scene.control('PATCH', path, change));
  return {
    ...prepared,
    undo: async () => {
      await prepared.undo?.();
      await scene.control('DELETE', path);
    },
  };
}

/** Registers an endpoint for sync events, which nothing listens to, and lets a sync read what is there so far. */
async function prepare({ client }: Scene, type: EventType, change: () => Promise<unknown>): Promise<Prepared> {
  const webhook_url = `http://127.0.0.1:9/sync-events/${randomInt(1e9)}`;
  const { webhook_id } = await client.webhook.create({ webhook_url, sync_events: true, event_types: [type] });
  await client.webhook.update(webhook_id, { paused: true });
  await client.sync.createAndWait();
  const newest = async (): Promise<TriggeredEvent | undefined> =>
    (await client.webhookEvents.list({ event_type: type, page_size: 1 })).webhook_events[0];
  return {
    send: async () => {
      const before = await newest();
      await change();
      await client.sync.createAndWait();
      const event = await newest();
      return event?.id === before?.id ? undefined : event;
    },
    undo: () => client.webhook.delete(webhook_id),
  };
}
