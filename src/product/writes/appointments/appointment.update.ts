import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { AppointmentUpdate } from '../../../emr/operations/appointments.ts';
import type { EventData, EventOf } from '../../../model/events.ts';
import { type Appointment, type AppointmentSource, appointments } from '../../../model/records/appointments.ts';
import type { Database, Tx } from '../../../platform/db/database.ts';
import {
  type AppointmentRow,
  findBooking,
  findPromisedTime,
  lockAppointment,
  type OccupiedTime,
  saveAppointment,
} from '../../records/appointments.ts';
import type { Scope } from '../../records/readRecords.ts';
import { appointmentRows } from '../../records/schedule.ts';
import { storeOwnRecord } from '../../records/storeRecords.ts';
import { defineWriteHandler, failureFields } from '../defineWrite.ts';

const type = 'appointment.update';
const step = 'update_appointment';

export type AppointmentUpdateInput = {
  appointment_id: string;
  ehr_id: string;
  /** Names the patient of the operation. */
  mrn?: string;
  change: Omit<AppointmentUpdate, 'appointment_ehr_id'>;
  /** Whether the new status means that the visit does not take place. */
  cancels: boolean;
  /** Whether the visit takes no time with the new status; absent if the status stays. */
  frees_time?: boolean;
  /** The time that the visit takes afterwards, if it changes that and allows double bookings. */
  occupies?: OccupiedTime;
  /** The fields of our record that the request changes. */
  shown: Partial<Appointment>;
};

/** A locked appointment as it will be once its queued changes are made. */
export async function withQueuedChanges(tx: Tx, scope: Scope, { id, doc }: AppointmentRow): Promise<Appointment> {
  const queued = await tx<{ input: AppointmentUpdateInput }[]>`SELECT operation.input FROM jobs AS job
      JOIN operations AS operation ON operation.id = job.operation_id
    WHERE job.account_id IN (SELECT id FROM accounts WHERE organization_id = ${scope.organization_id})
      AND job.state IN ('queued', 'running') AND job.type = ${type} AND operation.input ->> 'appointment_id' = ${id}
    ORDER BY job.id`;
  return Object.assign({}, doc, ...queued.map(({ input }) => input.shown));
}

/** Changes an appointment in the EMR: its status or note, or its time, provider, place or type. */
export const updateAppointment = defineWriteHandler<AppointmentUpdateInput, 'updateAppointment'>({
  type,
  label: 'Appointment update',
  plural_label: 'Appointment updates',
  needs: ['updateAppointment'],
  overwrites: true,
  // A later change of the patient's visits must not overtake it, so it waits in the patient's lane.
  mustWait: async (db, { id, input: { occupies }, ...scope }) =>
    occupies !== undefined && (await findPromisedTime(db, scope, { ...occupies, before: id })) !== undefined,
  run: async ({ input, emr, steps, scope, db }) => {
    const { appointment_id: id, ehr_id, change } = input;
    if (!steps.outcomes.has(step)) {
      const row = await findBooking(db, scope, id);
      if (!row) throw new EmrFailure('not_found', 'The appointment no longer exists.', { code: 'record_not_found' });
      const event = describeEvent({ ...row.doc, ...input.shown }, input);
      await steps.write(
        step,
        emr.updateAppointment,
        { appointment_ehr_id: ehr_id, ...change },
        { with_outcome: { event } },
      );
    }
    const appointment = await emr.getAppointment?.(ehr_id);
    const event = storedEvent(steps.outcomes);
    return {
      event: appointment ? await describeSaved(db, scope, { event, input, appointment }) : event,
      store: async (tx) => {
        const row = await lockAppointment(tx, scope, id);
        if (!row) return;
        if (appointment) await storeOwnRecord(tx, { ...scope, kind: appointments }, id, appointment);
        const read_back = appointment && (await lockAppointment(tx, scope, id))?.doc;
        const names = Object.keys(input.shown) as (keyof Appointment)[];
        const own = read_back ? Object.fromEntries(names.map((name) => [name, read_back[name]])) : input.shown;
        const cancelled =
          'status' in own ? (appointment?.cancelled ?? input.frees_time ?? input.cancels) : row.cancelled;
        // What staff changed in other fields is left to the sync, which announces it.
        await saveAppointment(tx, scope, id, { doc: { ...row.doc, ...own }, cancelled });
      },
    };
  },
  onFailure: ({ input, outcomes, failure }) => {
    if (outcomes.has(step)) return { state: 'succeeded', event: storedEvent(outcomes) };
    const data = { id: input.appointment_id, ...failureFields(failure) };
    return { state: 'failed', event: { type: 'appointment.update_failed', data } };
  },
});

/** Stored with the outcome, for an EMR that does not return the appointment afterwards. */
function storedEvent(outcomes: ReadonlyMap<string, Record<string, unknown>>): EventOf {
  return outcomes.get(step)?.event as EventOf;
}

/** The event with the values that the EMR has: those that the request leaves as they are may differ from the cache. */
async function describeSaved(
  db: Database,
  scope: Scope,
  { event, input, appointment }: { event: EventOf; input: AppointmentUpdateInput; appointment: AppointmentSource },
): Promise<EventOf> {
  const toRow = await db.tenant(scope.client_id, (tx) => appointmentRows(tx, scope));
  // The row of an appointment has a document of an appointment.
  const doc = toRow(appointment, input.appointment_id, undefined).doc as Appointment;
  const saved = describeEvent(doc, input);
  const { cancelled_at } = event.data as { cancelled_at?: string };
  if (saved.type !== 'appointment.cancelled' || cancelled_at === undefined) return saved;
  return { ...saved, data: { ...saved.data, cancelled_at } } as EventOf;
}

function describeEvent(doc: Appointment, { ehr_id, cancels }: AppointmentUpdateInput): EventOf {
  if (cancels) {
    const data: EventData<'appointment.cancelled'> = {
      id: doc.id,
      date_time: doc.datetime,
      duration: doc.duration,
      provider_id: doc.provider_ehr_id,
      provider_name: doc.provider_name,
      mrn: doc.patient_mrn,
      cancelled_at: new Date().toISOString(),
    };
    return { type: 'appointment.cancelled', data };
  }
  const data: EventData<'appointment.updated'> = {
    id: doc.id,
    ehr_appointment_id: ehr_id,
    patient_mrn: doc.patient_mrn,
    patient_name: doc.patient_name,
    datetime: doc.datetime,
    duration: doc.duration,
    location: doc.location,
    status: doc.status,
    provider_name: doc.provider_name,
    appointment_type: doc.appointment_type,
    appointment_mode: doc.appointment_mode,
  };
  return { type: 'appointment.updated', data };
}
