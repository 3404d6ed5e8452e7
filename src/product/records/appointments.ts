import type { Appointment } from '../../model/records/appointments.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import type { RecordsJson, Scope } from './readRecords.ts';
import { appointmentColumns } from './schedule.ts';
import { markWritten } from './storeRecords.ts';

/** A booking of ours, or an appointment of the EMR. */
export type AppointmentRow = {
  id: string;
  /** Null until the EMR has the appointment. */
  ehr_id: string | null;
  doc: Appointment;
  /** Whether it occupies no time. */
  cancelled: boolean;
  conflict: BookingConflict | null;
};

/** An earlier booking of ours that occupies the time, in the form of the event. */
export type BookingConflict = { conflict_type: 'appointment'; conflict_details: string };

/** Stores a booking that the EMR does not have yet. It occupies its time, unless an earlier one does. */
export async function insertBooking(
  tx: Tx,
  { client_id, organization_id }: Scope,
  doc: Appointment,
  conflict: BookingConflict | null,
): Promise<void> {
  const row = {
    ...{ id: doc.id, client_id, organization_id, ...storedColumns(tx, doc) },
    ...{ doc: tx.json(doc), source: 'api', cancelled: conflict !== null, conflict: conflict && tx.json(conflict) },
    ...{ created_at: doc.object_metadata.created_at, source_hash: unsynced, seen_in: 0 },
  };
  await tx`INSERT INTO appointments ${tx.values(row)}`;
}

/** Locks an appointment. Every change locks the appointment before any lane, so that changes cannot deadlock. */
export async function lockAppointment(
  tx: Tx,
  { organization_id }: Scope,
  id: string,
): Promise<AppointmentRow | undefined> {
  const [row] = await tx<AppointmentRow[]>`SELECT ${selected(tx)} FROM appointments
    WHERE organization_id = ${organization_id} AND id = ${id} FOR UPDATE`;
  return row;
}

/** `source` is the query of a transaction, or reads on its own. */
export async function findBooking(
  source: Database | Tx,
  { client_id, organization_id }: Scope,
  id: string,
): Promise<AppointmentRow | undefined> {
  const query = (sql: Query) => sql`SELECT ${selected(sql)} FROM appointments
    WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND id = ${id}`;
  const [row] =
    'read' in source
      ? await source.read<AppointmentRow>(client_id, query)
      : await source<AppointmentRow[]>`${query(source)}`;
  return row;
}

function selected(sql: Query): Fragment {
  return sql`id, ehr_id, doc, cancelled, conflict`;
}

/** `cancelled`: whether it occupies no time; unchanged if absent. */
type AppointmentChange = { doc: Appointment; cancelled?: boolean; conflict?: BookingConflict | null };

/** Changes a locked appointment. The next sync compares it again; a running sync neither removes nor replaces it. */
export async function saveAppointment(
  tx: Tx,
  { organization_id }: Scope,
  id: string,
  { doc, cancelled, conflict = null }: AppointmentChange,
): Promise<void> {
  const { ehr_appointment_id: ehr_id } = doc;
  const columns = {
    ...{ ...storedColumns(tx, doc), ehr_id, conflict: conflict && tx.json(conflict) },
    ...(cancelled !== undefined && { cancelled }),
  };
  await tx`UPDATE appointments SET ${tx.set(columns)}, doc = ${JSON.stringify(doc)}::text::json,
      source_hash = ${unsynced}, ${markWritten(tx, 'appointments', organization_id)} WHERE id = ${id}`;
}

function storedColumns(tx: Tx, doc: Appointment) {
  const { doc_without_notes, ...columns } = appointmentColumns(doc);
  return { ...columns, doc_without_notes: doc_without_notes && tx.json(doc_without_notes) };
}

/** Deletes bookings that failed, by the operations that were to make them. */
export async function deleteFailedBookings(tx: Tx, operation_ids: readonly string[]): Promise<void> {
  await tx`DELETE FROM appointments WHERE id = ANY (${[...operation_ids]}::uuid[])
    AND ehr_id IS NULL AND status = 'failed'`;
}

/** When and for whom a visit occupies time. */
export type OccupiedTime = { providers: readonly string[]; starts_at: string; minutes: number };

/**
 * Makes other bookings of these providers wait until the transaction ends, so that of two for the same time the second
 * one sees the first. Before any lane is locked.
 */
export async function lockProviders(tx: Tx, { organization_id }: Scope, providers: readonly string[]): Promise<void> {
  await tx`SELECT FROM providers WHERE organization_id = ${organization_id} AND ehr_id = ANY (${[...providers]})
    ORDER BY id FOR NO KEY UPDATE`;
}

/**
 * A booking of ours at the same time, accepted before and not yet in the EMR. The EMR knows about all others. The
 * providers are locked.
 */
export async function findEarlierBooking(
  tx: Tx,
  { client_id, organization_id }: Scope,
  { id, providers, starts_at, minutes }: OccupiedTime & { id: string },
): Promise<BookingConflict | null> {
  const [other] = await tx<{ doc: Appointment }[]>`SELECT doc FROM appointments
    WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND ehr_id IS NULL AND NOT cancelled
      AND id <> ${id} AND (provider_ehr_id = ANY (${[...providers]}) OR secondary_provider_ehr_id = ANY (${[...providers]}))
      AND starts_at < ${starts_at}::timestamptz + make_interval(mins => ${minutes}::int)
      AND starts_at + make_interval(mins => minutes) > ${starts_at}::timestamptz
    ORDER BY starts_at, id LIMIT 1`;
  return other ? describeConflict(other.doc) : null;
}

/** `before`: only bookings whose job was queued before this one. */
type PromisedTime = OccupiedTime & { before?: number };

/**
 * The lane of an accepted booking that must not be made twice and takes a part of this time, while the EMR does not have
 * it. If a visit that allows double bookings reached the EMR first, that booking, which was accepted as the only one,
 * would be refused.
 */
export async function findPromisedTime(
  source: Database | Tx,
  { client_id, organization_id }: Scope,
  { providers, starts_at, minutes, before }: PromisedTime,
): Promise<string | undefined> {
  const query = (sql: Query) => sql`SELECT job.lane FROM appointments AS booking
      JOIN operations AS operation ON operation.id = booking.id
      JOIN jobs AS job ON job.operation_id = booking.id AND job.state IN ('queued', 'running') AND NOT job.parked
    WHERE booking.client_id = ${client_id} AND booking.organization_id = ${organization_id}
      AND booking.ehr_id IS NULL AND NOT booking.cancelled
      AND operation.input ->> 'prevent_double_booking' = 'true'
      AND (booking.provider_ehr_id = ANY (${[...providers]}) OR booking.secondary_provider_ehr_id = ANY (${[...providers]}))
      AND booking.starts_at < ${starts_at}::timestamptz + make_interval(mins => ${minutes}::int)
      AND booking.starts_at + make_interval(mins => booking.minutes) > ${starts_at}::timestamptz
      AND ${before === undefined ? sql`true` : sql`job.id < ${before}`}
    ORDER BY job.id DESC LIMIT 1`;
  const [promised] =
    'read' in source
      ? await source.read<{ lane: string }>(client_id, query)
      : await source<{ lane: string }[]>`${query(source)}`;
  return promised?.lane;
}

function describeConflict({ datetime, duration, provider_name, provider_ehr_id }: Appointment): BookingConflict {
  const who = provider_name ?? `Provider ${provider_ehr_id}`;
  const [day, time] = [datetime.slice(0, 10), datetime.slice(11, 16)];
  const conflict_details = `${who} has an appointment that was requested earlier, on ${day} at ${time} for ${duration} minutes.`;
  return { conflict_type: 'appointment', conflict_details };
}

/** An appointment as response JSON, by our id or the EMR's; undefined if the organization has none. */
export async function readAppointment(
  db: Database,
  scope: Scope,
  key: { id: string } | { ehr_id: string },
): Promise<RecordsJson | undefined> {
  const rows = await db.read<RecordsJson>(
    scope.client_id,
    (sql) => sql`SELECT json_build_object('success', true, 'appointment', doc)::text AS body,
             array_remove(ARRAY[patient_mrn], NULL) AS mrns FROM appointments
      WHERE client_id = ${scope.client_id} AND organization_id = ${scope.organization_id}
        AND ${'id' in key ? sql`id = ${key.id}` : sql`ehr_id = ${key.ehr_id}`}`,
  );
  return rows[0];
}

/** Equals the hash of no row. */
const unsynced = Buffer.alloc(0);
