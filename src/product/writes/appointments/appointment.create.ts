import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { Operations } from '../../../emr/operations/operations.ts';
import type { EventOf } from '../../../model/events.ts';
import { appointments } from '../../../model/records/appointments.ts';
import { AppointmentRequest } from '../../../model/requests/appointments.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import { findBooking, lockAppointment, saveAppointment } from '../../records/appointments.ts';
import type { Scope } from '../../records/readRecords.ts';
import { removeSyncedDuplicate, storeOwnRecord } from '../../records/storeRecords.ts';
import { defineWrite, type FinishedWrite, failureFields, patientNotFound } from '../defineWrite.ts';
import { type AppointmentInput, checkReferences } from './appointmentRequest.ts';
import {
  findConflict,
  findLaneToFollow,
  lockTime,
  mustWait,
  readInput,
  reopenBooking,
  storeBooking,
} from './pendingAppointment.ts';

const step = 'create_appointment';

/** Books an appointment in the EMR's schedule. */
export const createAppointment = defineWrite({
  type: 'appointment.create',
  label: 'Appointment',
  plural_label: 'Appointments',
  independent: true,
  body: AppointmentRequest,
  sample: {
    mrn: 'LK100001',
    location: '11',
    provider: '501',
    type: 'OV',
    datetime: '2031-03-03T10:00:00-05:00',
    reason: 'Follow-up',
  },
  needs: ['createAppointment', 'findPatient'],
  restricted: false,
  stored_by: 'createAppointment',
  check: async ({ ctx, account, body }) => {
    const { lane, lookups } = await checkReferences(ctx, ctx.db, account, { body });
    const after = await findLaneToFollow(ctx.db, account, { ...body, ...lookups });
    return { lane: after === undefined ? lane : { key: after }, lookups };
  },
  compareWithEarlier: async ({ tx, account, input }) => {
    await lockTime(tx, account, input);
    return {};
  },
  onAccepted: ({ tx, account, id, input }) => storeBooking(tx, account, id, input),
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Appointment creation queued. A webhook event follows on completion.',
    appointment_id: id,
    job_id,
    data: { appointment_id: id, job_id },
  }),
  mustWait,
  run: async ({ id, input, emr, steps, scope, db }) => {
    // If an earlier attempt may have sent the appointment, send the same values again, even if the client has changed them.
    const sent = sentInput(steps) ?? (await readRequest(db, scope, id, input));
    if (!sentInput(steps)) await rejectTakenTime(db, scope, id, sent);
    const booked = steps.outcomes.get(step) ?? (await book(sent, emr, steps));
    // Stored together with the event, so that the appointment can be read and its time is no longer offered.
    const appointment = await emr.getAppointment?.(String(booked.ehr_id));
    return {
      event: created(id, sent, booked),
      store: async (tx) => {
        if (appointment) await storeOwnRecord(tx, { ...scope, kind: appointments }, id, appointment);
      },
    };
  },
  onFailure: ({ id, input, outcomes, intentData, failure }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: created(id, sentInput({ intentData }) ?? input, done) };
    const { conflict_type, conflict_details } = failure.details ?? {};
    const data = {
      appointment_id: id,
      mrn: input.mrn,
      ...failureFields(failure),
      ...(conflict_type === undefined
        ? {}
        : { conflict_type: String(conflict_type), conflict_details: String(conflict_details) }),
    };
    return { state: 'failed', event: { type: 'appointment.failed', data } };
  },
  onFinished: storeResult,
  rerun: {
    blocker: async (tx, job) => {
      const row = await findBooking(tx, job, job.operation_id);
      const changed = row && (row.ehr_id !== null || row.doc.status !== 'failed');
      return changed ? 'The appointment has changed since. Send a new request.' : undefined;
    },
    lock: async (tx, job) => {
      await lockAppointment(tx, job, job.operation_id);
      await lockTime(tx, job, job.input);
    },
    prepare: (tx, job) => reopenBooking(tx, job, { id: job.operation_id, input: job.input }),
  },
});

/** The request as it was, or may have been, sent to the EMR: `book` stored it with the step's intent. */
function sentInput(steps: Pick<Steps, 'intentData'>): AppointmentInput | undefined {
  return steps.intentData(step) as AppointmentInput | undefined;
}

/**
 * The request as the client last changed it. A change locks the appointment and is refused while the job runs, so that
 * none is lost between this and the step's intent.
 */
async function readRequest(db: Database, scope: Scope, id: string, input: AppointmentInput): Promise<AppointmentInput> {
  return db.tenant(scope.client_id, async (tx) => {
    await lockAppointment(tx, scope, id);
    return (await readInput(tx, id)) ?? input;
  });
}

/**
 * A booking that was accepted while an earlier one occupied its time fails, even if it is the first to run: which of the
 * two is made must not depend on their patients' other jobs.
 */
async function rejectTakenTime(db: Database, scope: Scope, id: string, input: AppointmentInput): Promise<void> {
  if (input.prevent_double_booking !== 'true') return;
  const booking = await findBooking(db, scope, id);
  // A dry run has stored none.
  const details = booking
    ? booking.conflict
    : await db.tenant(scope.client_id, (tx) => findConflict(tx, scope, id, input));
  if (!details) return;
  throw new EmrFailure('refused', `The provider is not free. ${details.conflict_details}`, {
    code: 'slot_taken',
    details,
  });
}

/** Gives the booking its EMR id, or the reason why it failed. A failed one no longer occupies its time. */
async function storeResult({ tx, job, outcomes, failure }: FinishedWrite<AppointmentInput>): Promise<void> {
  const { operation_id: id } = job;
  if (!(await lockAppointment(tx, job, id))) await storeBooking(tx, job, id, job.input);
  const row = await findBooking(tx, job, id);
  if (!row || row.ehr_id !== null) return;
  const ehr_id = outcomes.get(step)?.ehr_id;
  if (ehr_id !== undefined) {
    // The EMR did not return the appointment. The next sync reads it.
    await removeSyncedDuplicate(tx, { ...job, kind: appointments }, { id, ehr_id: String(ehr_id) });
    const doc = { ...row.doc, ehr_appointment_id: String(ehr_id), status: 'scheduled' };
    await saveAppointment(tx, job, id, { doc, cancelled: false });
    return;
  }
  const doc = { ...row.doc, status: 'failed', ...(failure && failureFields(failure)) };
  await saveAppointment(tx, job, id, { doc, cancelled: failure?.code !== 'outcome_unknown' });
}

async function book(
  input: AppointmentInput,
  emr: Pick<Operations, 'findPatient' | 'createAppointment'>,
  steps: Steps,
): Promise<Record<string, unknown>> {
  const patient = await emr.findPatient(input.mrn);
  if (!patient) throw patientNotFound(input.mrn);
  return steps.write(
    step,
    emr.createAppointment,
    {
      patient_ehr_id: patient.ehr_id,
      provider_ehr_id: input.provider,
      secondary_provider_ehr_id: input.secondary_provider ?? null,
      location_ehr_id: input.location,
      visit_type: input.visit_type,
      starts_at: input.starts_at,
      minutes: input.duration === undefined ? null : Number(input.duration),
      default_minutes: input.default_minutes,
      reason: input.reason ?? null,
      note: input.note ?? null,
      new_patient: input.new_patient === 'true',
      prevent_double_booking: input.prevent_double_booking === 'true',
    },
    { with_intent: input },
  );
}

function created(id: string, input: AppointmentInput, booked: Record<string, unknown>): EventOf {
  const data = {
    appointment_id: id,
    ehr_appointment_id: String(booked.ehr_id),
    mrn: input.mrn,
    date_time: input.starts_at,
    timezone: input.timezone,
    provider_id: input.provider,
    provider_name: input.provider_name,
    secondary_provider_id: input.secondary_provider ?? null,
  };
  return { type: 'appointment.created', data };
}
