import { type ApiError, apiError } from '../../../catalog/errors.ts';
import type { Operations } from '../../../emr/operations/operations.ts';
import type { EventOf } from '../../../model/events.ts';
import { appointments } from '../../../model/records/appointments.ts';
import type { KindName } from '../../../model/records/kinds.ts';
import { AppointmentRequest } from '../../../model/requests/appointments.ts';
import { standard_minutes } from '../../../model/settings.ts';
import { parseInstant } from '../../../platform/time/days.ts';
import { localTimeExists, withOffset } from '../../../platform/time/zones.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Steps } from '../../jobs/jobSteps.ts';
import { referenceError } from '../../records/readRecords.ts';
import { storeOwnRecord } from '../../records/storeRecords.ts';
import { defineWrite, failureFields, patientNotFound } from '../defineWrite.ts';
import { patientIdByMrn, patientLane } from '../patients/patientLane.ts';

const step = 'create_appointment';

/** Stored with the request: the provider's name may change before the job runs. */
type Lookups = {
  provider_name: string;
  timezone: string;
  starts_at: string;
  /** The length of the visit type as last synced; null if the EMR gives none. */
  visit_type_minutes: number | null;
  default_minutes: number;
};
export type AppointmentInput = AppointmentRequest & Lookups;

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
  check: checkReferences,
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Appointment creation queued. A webhook event follows on completion.',
    appointment_id: id,
    job_id,
    data: { appointment_id: id, job_id },
  }),
  run: async ({ id, input, emr, steps, scope }) => {
    const booked = steps.outcomes.get(step) ?? (await book(input, emr, steps));
    // Stored together with the event, so that the appointment can be read and its time is no longer offered.
    const appointment = await emr.getAppointment?.(String(booked.ehr_id));
    return {
      event: created(id, input, booked),
      store: async (tx) => {
        if (appointment) await storeOwnRecord(tx, { ...scope, kind: appointments }, id, appointment);
      },
    };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    const done = outcomes.get(step);
    if (done) return { state: 'succeeded', event: created(id, input, done) };
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
});

async function book(
  input: AppointmentInput,
  emr: Pick<Operations, 'findPatient' | 'createAppointment'>,
  steps: Steps,
): Promise<Record<string, unknown>> {
  const patient = await emr.findPatient(input.mrn);
  if (!patient) throw patientNotFound(input.mrn);
  return steps.write(step, emr.createAppointment, {
    patient_ehr_id: patient.ehr_id,
    provider_ehr_id: input.provider,
    secondary_provider_ehr_id: input.secondary_provider ?? null,
    location_ehr_id: input.location,
    visit_type: input.type,
    starts_at: input.starts_at,
    minutes: input.duration === undefined ? null : Number(input.duration),
    default_minutes: input.default_minutes,
    reason: input.reason ?? null,
    note: input.note ?? null,
    new_patient: input.new_patient === 'true',
    prevent_double_booking: input.prevent_double_booking === 'true',
  });
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

type Status = 'active' | 'inactive';
type References = {
  provider: { name: string; status: Status } | null;
  secondary_status: Status | null;
  location_status: Status | null;
  patient_id: string | null;
  timezone: string;
  visit_type_minutes: number | null;
  default_minutes: number | null;
};

async function checkReferences({ ctx, account, body }: { ctx: Context; account: Account; body: AppointmentRequest }) {
  const { client_id, organization_id } = account;
  if (body.secondary_provider === body.provider) {
    const rule = 'secondary_provider must be another provider than provider';
    throw apiError('invalid_field', { rule }, { field: 'secondary_provider' });
  }
  const [references] = await ctx.db.read<References>(
    client_id,
    (sql) => sql`SELECT
      (SELECT json_build_object('name', doc ->> 'name', 'status', doc ->> 'status') FROM providers
        WHERE organization_id = ${organization_id} AND ehr_id = ${body.provider}) AS provider,
      (SELECT doc ->> 'status' FROM providers WHERE organization_id = ${organization_id}
        AND ehr_id = ${body.secondary_provider ?? null}) AS secondary_status,
      (SELECT doc ->> 'status' FROM locations
        WHERE organization_id = ${organization_id} AND ehr_id = ${body.location}) AS location_status,
      (SELECT minutes FROM visit_types
        WHERE organization_id = ${organization_id} AND ehr_id = ${body.type}) AS visit_type_minutes,
      timezone, default_appointment_minutes AS default_minutes,
      ${patientIdByMrn(sql, account, body.mrn)} AS patient_id
      FROM organizations WHERE id = ${organization_id}`,
  );
  if (!references) throw new Error('The organization no longer exists.');
  const starts_at = appointmentTime(body, references.timezone);
  const unknown = (kind: KindName, error: ApiError) => referenceError(ctx.db, account, [kind], error);
  if (references.location_status === null) {
    throw await unknown('locations', apiError('location_not_found', { id: body.location }, { field: 'location' }));
  }
  if (references.location_status === 'inactive') {
    throw apiError('location_inactive', { id: body.location }, { field: 'location' });
  }
  if (references.provider === null) {
    throw await unknown('providers', apiError('provider_not_found', { id: body.provider }, { field: 'provider' }));
  }
  if (references.provider.status === 'inactive') {
    throw apiError('provider_inactive', { id: body.provider }, { field: 'provider' });
  }
  if (body.secondary_provider !== undefined) {
    const [id, field] = [body.secondary_provider, 'secondary_provider'];
    if (references.secondary_status === null)
      throw await unknown('providers', apiError('provider_not_found', { id }, { field }));
    if (references.secondary_status === 'inactive') throw apiError('provider_inactive', { id }, { field });
  }
  const lookups: Lookups = {
    provider_name: references.provider.name,
    timezone: references.timezone,
    starts_at,
    visit_type_minutes: references.visit_type_minutes,
    default_minutes: references.default_minutes ?? standard_minutes,
  };
  return { lane: patientLane(body.mrn, references.patient_id), lookups };
}

/**
 * The start of the appointment with the offset of the EMR instance, `2026-03-08T09:30:00-04:00`, from either form of a
 * request. The offset keeps the instant when clocks go back and a local time occurs twice.
 */
export function appointmentTime(request: AppointmentRequest, timezone: string): string {
  const { datetime, date, time } = request;
  if (datetime !== undefined && (date !== undefined || time !== undefined)) {
    throw invalid('datetime', 'Send either datetime or date and time, not both');
  }
  if (datetime !== undefined) return withOffset(checkInstant(datetime), timezone);
  if (date === undefined && time === undefined) throw missing('datetime');
  if (date === undefined) throw missing('date');
  if (time === undefined) throw missing('time');
  const local = `${date}T${to24Hours(time)}:00`;
  if (!localTimeExists(local, timezone)) {
    throw invalid(
      'time',
      `time does not exist on ${date} in ${timezone}, because clocks go forward. Send another time`,
    );
  }
  return withOffset(local, timezone);
}

/** EMR schedules have no seconds. */
function checkInstant(datetime: string): string {
  const ms = parseInstant(datetime);
  if (ms === undefined) throw invalid('datetime', 'datetime must be a date and time with offset, in ISO 8601');
  if (ms % 60_000 !== 0) throw invalid('datetime', 'datetime must be a full minute');
  return datetime;
}

/** `9:05 pm` as `21:05`. */
function to24Hours(time: string): string {
  const [, hour = '', minute = '', half = ''] = /^(\d+):(\d\d) ?([ap])m$/i.exec(time) ?? [];
  const hours = (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  return `${String(hours).padStart(2, '0')}:${minute}`;
}

function missing(field: string) {
  return apiError('missing_field', { field }, { field });
}

function invalid(field: string, rule: string) {
  return apiError('invalid_field', { rule }, { field });
}
