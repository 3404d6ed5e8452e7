import type { Account } from '../../accounts/accounts.ts';
import { EmrFailure, type Operations } from '../../connectors/connector.ts';
import type { Context } from '../../context.ts';
import { apiError } from '../../errors.ts';
import type { EventOf } from '../../events.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import type { AppointmentSource } from '../../model/appointment.ts';
import { AppointmentRequest } from '../../model/appointmentRequest.ts';
import { appointments } from '../../records/appointments.ts';
import { keepOwn } from '../../records/recordKind.ts';
import { withOffset } from '../../records/withOffset.ts';
import { failureOf, patientIdOf, patientLane, type Write } from '../write.ts';
import { appointmentTime } from './appointmentTime.ts';

const step = 'create_appointment';

/** What the check found out, stored beside the request: later the cache may know the provider by another name. */
type Found = { provider_name: string; timezone: string };
type Stored = AppointmentRequest & Found;

/** An appointment is booked in the EMR's schedule. */
export const createAppointment: Write<typeof AppointmentRequest, 'findPatient' | 'createAppointment'> = {
  type: 'appointment.create',
  body: AppointmentRequest,
  needs: ['createAppointment', 'findPatient'],
  label: 'Appointments',
  restricted: false,
  check: checkReferences,
  accepted: ({ id, job_id }) => ({
    success: true,
    message: 'Appointment creation queued. A webhook event follows on completion.',
    appointment_id: id,
    job_id,
    data: { appointment_id: id, job_id },
  }),
  perform: async ({ id, body, emr, steps, handOver }) => {
    const stored = body as Stored;
    const booked = steps.outcomes.get(step) ?? (await book(stored, emr, steps));
    // From its announcement on the appointment can be read, and its time is no longer offered.
    handOver(await emr.getAppointment?.(String(booked.ehr_id)));
    return created(id, stored, booked);
  },
  fail: ({ id, body, outcomes, problem }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: created(id, body as Stored, done) };
    const { conflict_type, conflict_details } = problem.details ?? {};
    const data = {
      appointment_id: id,
      mrn: body.mrn,
      ...failureOf(problem),
      ...(conflict_type === undefined
        ? {}
        : { conflict_type: String(conflict_type), conflict_details: String(conflict_details) }),
    };
    return { state: 'failed', event: { type: 'appointment.failed', data } };
  },
  settle: async ({ tx, job: { client_id, organization_id, operation_id }, record }) => {
    const source = record as AppointmentSource | undefined;
    if (source) await keepOwn(tx, appointments, { client_id, organization_id }, operation_id, source);
  },
};

async function book(
  body: Stored,
  emr: Pick<Operations, 'findPatient' | 'createAppointment'>,
  steps: Steps,
): Promise<Record<string, unknown>> {
  const patient = await emr.findPatient(body.mrn);
  if (!patient) throw new EmrFailure('not_found', `Patient with MRN '${body.mrn}' not found.`);
  return steps.write(step, emr.createAppointment, {
    patient_ehr_id: patient.ehr_id,
    provider_ehr_id: body.provider,
    secondary_provider_ehr_id: body.secondary_provider ?? null,
    location_ehr_id: body.location,
    visit_type: body.type,
    starts_at: appointmentTime(body, body.timezone),
    minutes: body.duration === undefined ? null : Number(body.duration),
    reason: body.reason ?? null,
    note: body.note ?? null,
    new_patient: body.new_patient === 'true',
    prevent_double_booking: body.prevent_double_booking === 'true',
  });
}

function created(id: string, stored: Stored, booked: Record<string, unknown>): EventOf {
  const data = {
    appointment_id: id,
    ehr_appointment_id: String(booked.ehr_id),
    mrn: stored.mrn,
    date_time: withOffset(appointmentTime(stored, stored.timezone), stored.timezone),
    timezone: stored.timezone,
    provider_id: stored.provider,
    provider_name: stored.provider_name,
    secondary_provider_id: stored.secondary_provider ?? null,
  };
  return { type: 'appointment.created', data };
}

async function checkReferences(ctx: Context, account: Account, body: AppointmentRequest) {
  const { client_id, organization_id } = account;
  const [found] = await ctx.db.read<{
    provider: string | null;
    secondary: boolean;
    location: boolean;
    patient_id: string | null;
    timezone: string;
  }>(
    client_id,
    (sql) => sql`SELECT
      (SELECT doc ->> 'name' FROM providers
        WHERE organization_id = ${organization_id} AND ehr_id = ${body.provider}) AS provider,
      EXISTS (SELECT FROM providers WHERE organization_id = ${organization_id}
               AND ehr_id = ${body.secondary_provider ?? null}) AS secondary,
      EXISTS (SELECT FROM locations WHERE organization_id = ${organization_id} AND ehr_id = ${body.location}) AS location,
      (SELECT timezone FROM organizations WHERE id = ${organization_id}) AS timezone,
      ${patientIdOf(sql, account, body.mrn)} AS patient_id`,
  );
  const timezone = found?.timezone ?? 'UTC';
  appointmentTime(body, timezone);
  if (!found?.location) throw apiError('location_not_found', { id: body.location }, { field: 'location' });
  if (found.provider === null) throw apiError('provider_not_found', { id: body.provider }, { field: 'provider' });
  if (body.secondary_provider !== undefined && !found.secondary) {
    throw apiError('provider_not_found', { id: body.secondary_provider }, { field: 'secondary_provider' });
  }
  return { ...patientLane(body.mrn, found.patient_id), found: { provider_name: found.provider, timezone } };
}
