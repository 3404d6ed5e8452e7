import { apiError } from '../../../catalog/errors.ts';
import { newId } from '../../../catalog/ids.ts';
import type { AppointmentUpdate } from '../../../emr/operations/appointments.ts';
import type { Appointment } from '../../../model/records/appointments.ts';
import {
  type AppointmentChanges,
  AppointmentRequest,
  ScheduledAppointmentChanges,
} from '../../../model/requests/appointments.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { enqueue, enqueueAgain } from '../../jobs/enqueue.ts';
import { addReference, updateOperation } from '../../jobs/jobs.ts';
import { moveQueued } from '../../jobs/moveQueued.ts';
import { type AppointmentRow, lockAppointment } from '../../records/appointments.ts';
import type { Lane } from '../defineWrite.ts';
import { newJob, rejectFields, requireSupported, sentFields } from '../requestWrite.ts';
import { createAppointment } from './appointment.create.ts';
import { type AppointmentUpdateInput, updateAppointment, withQueuedChanges } from './appointment.update.ts';
import { type AppointmentInput, checkReferences } from './appointmentRequest.ts';
import { findStatus, freesTime, isCancellation } from './appointmentStatuses.ts';
import {
  findLaneToFollow,
  laneApart,
  lockTime,
  readInput,
  rejectPendingConflict,
  reopenBooking,
  toOccupiedTime,
} from './pendingAppointment.ts';

/** Undefined if the appointment does not exist. */
type PatchResult = { message: string; job_id?: number; mrn: string | null } | undefined;

/** Changes an appointment: the queued booking while it is pending or failed, afterwards the EMR. */
export async function patchAppointment(
  ctx: Context,
  tx: Tx,
  account: Account,
  { id, changes, reference }: { id: string; changes: AppointmentChanges; reference: string | null },
): Promise<PatchResult> {
  if (Object.keys(changes).length === 0) throw apiError('no_field');
  const row = await lockAppointment(tx, account, id);
  if (!row) return undefined;
  return row.ehr_id === null
    ? amendBooking(ctx, tx, account, { row, changes, reference })
    : changeScheduled(ctx, tx, account, { row, changes, reference });
}

/** `reference`: the client's own, for the job that the change queues. */
type Patch = { row: AppointmentRow; changes: AppointmentChanges; reference: string | null };

/**
 * Changes the request of the booking, which keeps its own reference, if it has one, and moves into the lane of another
 * patient, or waits for an earlier booking of its new time. One that has failed is queued again.
 */
async function amendBooking(
  ctx: Context,
  tx: Tx,
  account: Account,
  { row, changes, reference }: Patch,
): Promise<PatchResult> {
  const { id } = row;
  const { status, ...data } = changes;
  if (status !== undefined) throw fixedUntilBooked();
  rejectFields(ctx, account, createAppointment, sentFields(AppointmentRequest, data));
  if (await isBeingWritten(tx, id)) throw apiError('appointment_in_progress');
  const stored = await readInput(tx, id);
  if (!stored) return undefined;
  const request = amendRequest(stored, data);
  const { lane, lookups } = await checkReferences(ctx, tx, account, { body: request, sent: Object.keys(data) });
  const input: AppointmentInput = { ...request, ...lookups };
  await lockTime(tx, account, input);
  const pending = row.doc.status === 'pending';
  await reopenBooking(tx, account, { id, input, pending: pending ? stored : undefined });
  const { mrn } = input;
  const waits = (await findLaneToFollow(tx, account, input)) !== undefined;
  const operation = { id, type: createAppointment.type, input, reference };
  const job = newJob(ctx, account, operation, waits ? { key: laneApart(id) } : lane);
  if (pending) {
    await tx`${updateOperation(tx, { id, input })}`;
    if (!(await moveQueued(tx, job))) throw apiError('appointment_in_progress');
    if (reference !== null) await addReference(tx, id, reference);
    return { message: 'Appointment update queued with the creation of the appointment.', mrn };
  }
  const job_id = await enqueueAgain(tx, job);
  const message =
    'Appointment update queued: the appointment will be created with it. A webhook event follows on completion.';
  return { message, job_id, mrn };
}

function fixedUntilBooked() {
  const rule = 'status cannot be changed until the appointment is in the EMR';
  return apiError('invalid_field', { rule }, { field: 'status' });
}

/** Whether a job of the booking runs, or the EMR may have the appointment already. */
async function isBeingWritten(tx: Tx, id: string): Promise<boolean> {
  const [row] = await tx<{ busy: boolean }[]>`SELECT EXISTS (
      SELECT FROM jobs WHERE operation_id = ${id} AND (state = 'running' OR (
        SELECT kind FROM job_steps WHERE job_id = jobs.id AND kind <> 'note' ORDER BY n DESC LIMIT 1) = 'intent')) AS busy`;
  return row?.busy ?? false;
}

/** The request with its changes. Null clears a field; one form of the time replaces the other. */
function amendRequest(stored: AppointmentInput, changes: Omit<AppointmentChanges, 'status'>): AppointmentRequest {
  const names = Object.keys(AppointmentRequest.properties);
  const before = Object.fromEntries(Object.entries(stored).filter(([name]) => names.includes(name)));
  const other_form = changes.datetime ? ['date', 'time'] : changes.date || changes.time ? ['datetime'] : [];
  const merged = Object.entries({ ...before, ...changes }).filter(
    ([name, value]) => value !== null && value !== undefined && !other_form.includes(name),
  );
  // The fields are those of the request, and the required ones cannot be cleared.
  return Object.fromEntries(merged) as AppointmentRequest;
}

/** Queues the change of an appointment that the EMR has. */
async function changeScheduled(
  ctx: Context,
  tx: Tx,
  account: Account,
  { row, changes, reference }: Patch,
): Promise<PatchResult> {
  const { id, ehr_id, doc } = row;
  const { prevent_double_booking: _how, ...data } = changes;
  if (Object.keys(data).length === 0) throw apiError('no_field');
  const fixed = Object.keys(changes).find((field) => !(field in ScheduledAppointmentChanges.properties));
  if (fixed !== undefined) throw apiError('fixed_appointment_field', { field: fixed }, { field: fixed });
  rejectFields(ctx, account, { stored_by: 'updateAppointment' }, Object.keys(changes));
  requireSupported(ctx, account, updateAppointment);
  if (ehr_id === null) throw new Error('The appointment is not in the EMR.');
  const status = changes.status === undefined ? undefined : await findStatus(tx, account, changes.status);
  const requested = readMove(changes);
  const visit = await resolveVisit(ctx, tx, account, { row, requested, changes });
  const frees_time = status && freesTime(status);
  // A status may make a visit take place again that the cache, or the EMR, has as canceled.
  const takes_time = frees_time === undefined ? Object.keys(requested).length > 0 : !frees_time;
  if (takes_time) {
    await lockTime(tx, account, visit.input);
    await rejectPendingConflict(tx, account, id, visit.input);
  }
  const strict = takes_time && changes.prevent_double_booking === 'true';
  const change: Omit<AppointmentUpdate, 'appointment_ehr_id'> = {
    ...(status && { status: status.code }),
    ...(changes.note !== undefined && { note: changes.note }),
    ...toUpdate(requested, visit.input),
    prevent_double_booking: strict,
  };
  const { patient_mrn: mrn } = doc;
  const input: AppointmentUpdateInput = {
    ...{ appointment_id: id, ehr_id, change, cancels: status !== undefined && isCancellation(status) },
    ...(mrn !== null && { mrn }),
    ...(frees_time !== undefined && { frees_time }),
    ...(takes_time && !strict && { occupies: toOccupiedTime(visit.input) }),
    shown: {
      ...toShown(requested, visit.input),
      ...(status && { status: status.code }),
      ...('note' in change && { note: change.note }),
    },
  };
  const operation = { id: newId(), type: updateAppointment.type, input, reference };
  const lane = mrn === null ? { key: `appointment:${id}` } : visit.lane;
  const job_id = await enqueue(tx, newJob(ctx, account, operation, lane));
  if (job_id === undefined) throw new Error('A job without an idempotency key is always queued.');
  return { message: 'Appointment update queued. A webhook event follows on completion.', job_id, mrn };
}

const move_fields = ['datetime', 'date', 'time', 'provider', 'location', 'type', 'duration'] as const;
type Move = Partial<Record<(typeof move_fields)[number], string>>;

/** The fields of a reschedule, none of which can be cleared. */
function readMove(changes: AppointmentChanges): Move {
  const cleared = move_fields.find((name) => changes[name] === null);
  if (cleared !== undefined) throw apiError('missing_field', { field: cleared }, { field: cleared });
  const sent = move_fields.flatMap((name) => (changes[name] === undefined ? [] : [[name, changes[name]]]));
  return Object.fromEntries(sent);
}

/** The visit after its queued changes and this one, as a request. What is sent is checked as for a new visit. */
async function resolveVisit(
  ctx: Context,
  tx: Tx,
  account: Account,
  { row, requested, changes }: { row: AppointmentRow; requested: Move; changes: AppointmentChanges },
): Promise<{ input: AppointmentInput; lane: Lane }> {
  const doc = await withQueuedChanges(tx, account, row);
  const secondary = doc.secondary_provider_ehr_id;
  const body: AppointmentRequest = {
    ...{ mrn: doc.patient_mrn ?? '', location: doc.location, provider: doc.provider_ehr_id },
    ...{ type: doc.appointment_type, duration: String(doc.duration) },
    ...(requested.date === undefined && requested.time === undefined && { datetime: doc.datetime }),
    ...(secondary !== null && { secondary_provider: secondary }),
    ...(changes.prevent_double_booking === 'true' && { prevent_double_booking: 'true' as const }),
    ...requested,
  };
  const { lane, lookups } = await checkReferences(ctx, tx, account, {
    body,
    sent: Object.keys(requested),
    keeps: true,
  });
  return { input: { ...body, ...lookups }, lane };
}

/** What a reschedule sends to the EMR: all that it names, because the EMR may have other values than the cache. */
function toUpdate(
  requested: Move,
  input: AppointmentInput,
): Omit<AppointmentUpdate, 'appointment_ehr_id' | 'prevent_double_booking'> {
  return {
    ...(isTimeSent(requested) && { starts_at: input.starts_at }),
    ...(requested.provider !== undefined && { provider_ehr_id: input.provider }),
    ...(requested.location !== undefined && { location_ehr_id: input.location }),
    ...(requested.type !== undefined && { visit_type: input.visit_type }),
    ...(requested.duration !== undefined && { minutes: Number(input.duration) }),
  };
}

/** What a reschedule changes in our record. */
function toShown(requested: Move, input: AppointmentInput): Partial<Appointment> {
  return {
    ...(isTimeSent(requested) && { datetime: input.starts_at }),
    ...(requested.provider !== undefined && { provider_ehr_id: input.provider, provider_name: input.provider_name }),
    ...(requested.location !== undefined && { location: input.location }),
    ...(requested.type !== undefined && { appointment_type: input.visit_type }),
    ...(requested.duration !== undefined && { duration: Number(input.duration) }),
  };
}

function isTimeSent({ datetime, date, time }: Move): boolean {
  return (datetime ?? date ?? time) !== undefined;
}
