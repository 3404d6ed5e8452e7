import { apiError } from '../../../catalog/errors.ts';
import type { Appointment } from '../../../model/records/appointments.ts';
import type { Patient } from '../../../model/records/patients.ts';
import type { Database, Query, Tx } from '../../../platform/db/database.ts';
import type { Job } from '../../jobs/jobs.ts';
import {
  type BookingConflict,
  findBooking,
  findEarlierBooking,
  findPromisedTime,
  insertBooking,
  lockProviders,
  type OccupiedTime,
  saveAppointment,
} from '../../records/appointments.ts';
import type { Scope } from '../../records/readRecords.ts';
import { laneByMrn } from '../patients/patientLane.ts';
import { type AppointmentInput, toMinutes } from './appointmentRequest.ts';

/** Stores an accepted booking, which occupies its time from now on. */
export async function storeBooking(tx: Tx, scope: Scope, id: string, input: AppointmentInput): Promise<void> {
  const conflict = await findConflict(tx, scope, id, input);
  await insertBooking(tx, scope, await describeBooking(tx, scope, { id, input, created_at: new Date() }), conflict);
}

/** Locks the providers of a booking that must not be made twice, before its lane is locked. */
export async function lockTime(tx: Tx, scope: Scope, input: AppointmentInput): Promise<void> {
  if (input.prevent_double_booking === 'true') await lockProviders(tx, scope, listProviders(input));
}

/** The earlier booking of ours that makes this one fail; null if there is none, or double bookings are allowed. */
export async function findConflict(
  tx: Tx,
  scope: Scope,
  id: string,
  input: AppointmentInput,
): Promise<BookingConflict | null> {
  if (input.prevent_double_booking !== 'true') return null;
  return findEarlierBooking(tx, scope, { id, ...toOccupiedTime(input) });
}

/**
 * The lane that a booking waits in because its time is promised to an earlier one that must not be made twice; undefined
 * if it need not wait. One that does not allow double bookings itself does not wait either: it fails.
 */
export async function findLaneToFollow(
  source: Database | Tx,
  scope: Scope,
  input: AppointmentInput,
): Promise<string | undefined> {
  return input.prevent_double_booking === 'true' ? undefined : findPromisedTime(source, scope, toOccupiedTime(input));
}

/**
 * The lane of an older booking whose time was changed to a promised one. In the lane of the other booking it would run
 * before that one, and in its own patient's lane all later jobs would wait with it.
 */
export function laneApart(id: string): string {
  return `apart:${id}`;
}

/**
 * Whether a booking must wait: for one that its time is promised to and, in a lane of its own, for the earlier jobs of
 * its patient. Nothing waits for a booking in a lane of its own, and all others wait for older jobs only, so that no two
 * can wait for each other.
 */
export async function mustWait(db: Database, job: Job<AppointmentInput>): Promise<boolean> {
  const { input, id, lane } = job;
  if (input.prevent_double_booking === 'true') return false;
  const apart = lane === laneApart(job.operation_id);
  const promised = await findPromisedTime(db, job, { ...toOccupiedTime(input), ...(!apart && { before: id }) });
  return promised !== undefined || (apart && (await hasEarlierJob(db, job)));
}

/** Whether an earlier job of the patient is waiting or running. */
async function hasEarlierJob(
  db: Database,
  { id, client_id, organization_id, input: { mrn } }: Job<AppointmentInput>,
): Promise<boolean> {
  const [earlier] = await db.read(
    client_id,
    (sql) => sql`SELECT job.id FROM jobs AS job WHERE job.organization_id = ${organization_id} AND job.id < ${id}
        AND job.state IN ('queued', 'running') AND NOT job.parked AND job.lane IN (
          SELECT ${laneByMrn(mrn)} UNION ALL SELECT 'patient:' || replace(patient.id::text, '-', '') FROM patients AS patient
            WHERE patient.client_id = ${client_id} AND patient.organization_id = ${organization_id} AND patient.mrn = ${mrn})
      LIMIT 1`,
  );
  return earlier !== undefined;
}

/** Refuses a change with which a visit would take a time that an accepted booking occupies. Its providers are locked. */
export async function rejectPendingConflict(tx: Tx, scope: Scope, id: string, input: AppointmentInput): Promise<void> {
  const conflict = await findConflict(tx, scope, id, input);
  if (conflict) throw apiError('appointment_time_taken', { conflict: conflict.conflict_details });
}

/** When and for whom the visit of a request occupies time. */
export function toOccupiedTime(input: AppointmentInput): OccupiedTime {
  return { providers: listProviders(input), starts_at: input.starts_at, minutes: toMinutes(input) };
}

/** Whether a request takes no other time, of no other provider, than the earlier one. */
function isWithin(input: AppointmentInput, earlier: AppointmentInput): boolean {
  const [start, earlier_start] = [Date.parse(input.starts_at), Date.parse(earlier.starts_at)];
  const ends_within = start + toMinutes(input) * 60_000 <= earlier_start + toMinutes(earlier) * 60_000;
  const providers = listProviders(earlier);
  return start >= earlier_start && ends_within && listProviders(input).every((each) => providers.includes(each));
}

function listProviders({ provider, secondary_provider }: AppointmentInput): string[] {
  return secondary_provider === undefined ? [provider] : [provider, secondary_provider];
}

type Booking = { id: string; input: AppointmentInput; created_at: Date };
type Related = { provider_npi: string | null; patient: Patient | null };

/** A requested appointment that the EMR does not have yet, as the client reads it. */
async function describeBooking(source: Database | Tx, scope: Scope, booking: Booking): Promise<Appointment> {
  const { client_id, organization_id } = scope;
  const { provider, mrn } = booking.input;
  const query = (sql: Query) => sql`SELECT
      (SELECT doc ->> 'npi' FROM providers WHERE organization_id = ${organization_id} AND ehr_id = ${provider}) AS provider_npi,
      (SELECT doc FROM patients WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND mrn = ${mrn}
        ORDER BY id LIMIT 1) AS patient`;
  const [related] =
    'read' in source ? await source.read<Related>(client_id, query) : await source<Related[]>`${query(source)}`;
  return toAppointment(booking, related ?? { provider_npi: null, patient: null });
}

/** The stored request of a booking; undefined if it was deleted. */
export async function readInput(tx: Tx, id: string): Promise<AppointmentInput | undefined> {
  const [operation] = await tx<{ input: AppointmentInput }[]>`SELECT input FROM operations
    WHERE id = ${id} AND input_deleted_at IS NULL`;
  return operation?.input;
}

/** `pending`: the request of a booking that has not run yet. */
type Reopened = { id: string; input: AppointmentInput; pending?: AppointmentInput | undefined };

/**
 * Makes a locked booking pending, again or with another request. One that is pending keeps the time that it was promised,
 * although bookings that wait for it take the same time.
 */
export async function reopenBooking(tx: Tx, scope: Scope, { id, input, pending }: Reopened): Promise<void> {
  const row = await findBooking(tx, scope, id);
  if (!row) return storeBooking(tx, scope, id, input);
  const created_at = new Date(row.doc.object_metadata.created_at);
  const doc = await describeBooking(tx, scope, { id, input, created_at });
  const promised = pending?.prevent_double_booking === 'true' && row.conflict === null && isWithin(input, pending);
  const conflict = promised ? null : await findConflict(tx, scope, id, input);
  await saveAppointment(tx, scope, id, { doc, cancelled: conflict !== null, conflict });
}

function toAppointment({ id, input, created_at }: Booking, { provider_npi, patient }: Related): Appointment {
  const name = patient && [patient.first_name, patient.last_name].filter(Boolean).join(' ');
  return {
    id,
    ehr_appointment_id: null,
    datetime: input.starts_at,
    duration: toMinutes(input),
    location: input.location,
    status: 'pending',
    appointment_mode: null,
    appointment_type: input.visit_type,
    practice_id: null,
    reason: input.reason ?? null,
    complaint_type: null,
    patient_name: name,
    patient_first_name: patient?.first_name ?? null,
    patient_last_name: patient?.last_name ?? null,
    patient_mrn: input.mrn,
    patient_ehr_id: patient?.ehr_id ?? null,
    patient_dob: patient?.dob ?? null,
    patient_gender: patient?.sex ?? null,
    patient_phone: patient?.cell_phone ?? patient?.phone ?? null,
    provider_ehr_id: input.provider,
    secondary_provider_ehr_id: input.secondary_provider ?? null,
    insurances: [],
    diagnoses: [],
    medications: [],
    note: input.note ?? null,
    progress_note: null,
    created_at: null,
    provider_name: input.provider_name,
    provider_npi,
    insurance: null,
    insurance_number: null,
    insurance_group_number: null,
    insurance_subscriber: null,
    secondary_insurance: null,
    secondary_insurance_number: null,
    object_metadata: { created_at: created_at.toISOString(), source: 'api' },
  };
}
