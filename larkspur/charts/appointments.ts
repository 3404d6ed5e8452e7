import { Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { FREE_STATUSES } from '../practice/scheduling.ts';
import {
  flag,
  id,
  idOrNull,
  localTime,
  longTextOrNull,
  minutes,
  text,
  textOrNull,
  timestamp,
  utcOffset,
} from '../records/fields.ts';
import { type Page, type RowOf, recordKind } from '../records/recordKind.ts';
import { SUBSCRIBER_SELF } from './patientInsurances.ts';

const row = Type.Object({
  appointmentId: id,
  patientId: id,
  providerId: id,
  secondaryProviderId: idOrNull,
  facilityId: id,
  startsAt: localTime,
  utcOffset: Type.Union([utcOffset, Type.Null()]),
  minutes,
  statusCode: id,
  visitTypeCode: id,
  mode: text,
  reason: textOrNull,
  complaintType: textOrNull,
  note: longTextOrNull,
  progressNote: longTextOrNull,
  newPatientFlag: flag,
  lockedFlag: flag,
  diagnoses: Type.Array(Type.Object({ code: text, description: text })),
  medications: Type.Array(Type.Object({ name: text, strength: text, frequency: text })),
  createdAt: timestamp,
  createdBy: textOrNull,
});

export const appointments = recordKind(
  { table: 'appointments', record: 'appointment', id: 'appointmentId', created_column: 'createdAt' },
  row,
  {
    minutes: 20,
    statusCode: 'PEN',
    visitTypeCode: 'OV',
    mode: 'OFFICE',
    newPatientFlag: 'N',
    lockedFlag: 'N',
    diagnoses: [],
    medications: [],
  },
);

/** An appointment as returned by the API, with its patient and the patient's active insurances. */
export interface Appointment extends Omit<RowOf<typeof appointments>, 'lockedFlag'> {
  practiceId: string;
  mrn: string;
  patient: { lastName: string; firstName: string; birthDate: string | null; sexCode: string; phone: string | null };
  insurances: {
    name: string;
    subscriberName: string | null;
    subscriberNumber: string;
    groupNumber: string | null;
    priority: number;
  }[];
}

export interface AppointmentFilters {
  from?: string | undefined;
  to?: string | undefined;
  patientId?: string | undefined;
  /** In either role. */
  providerId?: string | undefined;
}

/** Both dates are inclusive. */
export function dateRangeFilter(sql: Query, { from, to }: AppointmentFilters): Fragment {
  return sql`
    true
    ${from === undefined ? sql`` : sql`and starts_at >= ${from}::date`}
    ${to === undefined ? sql`` : sql`and starts_at < ${to}::date + 1`}`;
}

export async function listAppointments(sql: Query, filters: AppointmentFilters, { page, pageSize }: Page) {
  const { patientId, providerId } = filters;
  const ofPatient = patientId === undefined ? sql`` : sql`and appointments.patient_id = ${patientId}`;
  const ofProvider =
    providerId === undefined
      ? sql``
      : sql`and (appointments.provider_id = ${providerId} or appointments.secondary_provider_id = ${providerId})`;
  const filter = sql`${dateRangeFilter(sql, filters)} ${ofPatient} ${ofProvider}`;
  const [counted] = await sql<{ total: number }[]>`select count(*)::int as total from appointments where ${filter}`;
  const order = sql`length(appointment_id), appointment_id`;
  // Insurances are not collected for the appointments of earlier pages.
  const ids = sql`select appointment_id from appointments where ${filter}
    order by ${order} limit ${pageSize} offset ${(page - 1) * pageSize}`;
  const rows = await sql<Appointment[]>`
    ${select(sql)} where appointment_id = any(array(${ids})) order by ${order}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

export async function getAppointment(sql: Query, appointmentId: string): Promise<Appointment> {
  const [appointment] = await sql<Appointment[]>`${select(sql)} where appointment_id = ${appointmentId}`;
  if (!appointment) throw new EmrError('NOT_FOUND', `No appointment with id '${appointmentId}'.`);
  return appointment;
}

export interface Slot {
  /** The appointment that is moved, which does not conflict with itself. */
  appointmentId?: string;
  providerIds: string[];
  startsAt: string;
  utcOffset?: string | null | undefined;
  minutes: number;
}

/** Prevents concurrent bookings of these providers until the transaction ends. The fixed order avoids deadlocks. */
export async function lockProviders(sql: Query, providerIds: string[]): Promise<void> {
  await sql`select 1 from providers where provider_id = any(${providerIds}) order by provider_id for update`;
}

/** Throws CONFLICT if one of the providers has an appointment or a block at this time. */
export async function rejectDoubleBooking(sql: Query, slot: Slot): Promise<void> {
  const [appointment] = await sql<{ appointmentId: string; startsAt: string; minutes: number }[]>`
    select appointment_id, starts_at, minutes from appointments
    where (provider_id = any(${slot.providerIds}) or secondary_provider_id = any(${slot.providerIds}))
      and not status_code = any(${FREE_STATUSES}) and ${overlaps(sql, slot, sql`utc_offset`)}
      and appointment_id <> ${slot.appointmentId ?? ''}
    order by starts_at, length(appointment_id), appointment_id limit 1`;
  if (appointment) {
    const { appointmentId, startsAt, minutes } = appointment;
    throw conflict('APPOINTMENT', `Appointment ${appointmentId} at ${startsAt} for ${minutes} minutes.`);
  }
  const [block] = await sql<{ reason: string; startsAt: string; minutes: number }[]>`
    select reason, starts_at, minutes from blocks
    where provider_id = any(${slot.providerIds}) and ${overlaps(sql, slot, sql`null`)} order by starts_at, block_id limit 1`;
  if (block) throw conflict('BLOCK', `${block.reason} at ${block.startsAt} for ${block.minutes} minutes.`);
}

function select(sql: Query): Fragment {
  return sql`
    select appointment_id, (select practice_id from practice) as practice_id, appointments.patient_id, mrn,
      json_build_object('lastName', last_name, 'firstName', first_name,
        'birthDate', to_char(birth_date, 'MM/DD/YYYY'), 'sexCode', sex_code,
        'phone', coalesce(cell_phone, home_phone)) as patient,
      provider_id, secondary_provider_id, facility_id, starts_at, utc_offset, minutes, status_code, visit_type_code, mode, reason,
      complaint_type, note, progress_note, new_patient_flag, appointments.created_at,
      appointments.created_by,
      coalesce((
        select json_agg(json_build_object('name', company_name, 'subscriberName', ${subscriberName(sql)},
          'subscriberNumber', subscriber_number, 'groupNumber', group_number, 'priority', priority)
          order by priority, length(insurance_id), insurance_id)
        from patient_insurances left join guarantors using (guarantor_id)
        where patient_insurances.patient_id = appointments.patient_id and active_flag = 'Y'), '[]') as insurances,
      diagnoses, medications
    from appointments join patients using (patient_id)`;
}

/** The patient, or the insurance's guarantor. Null if the chart does not name the subscriber. */
function subscriberName(sql: Query): Fragment {
  return sql`case when coalesce(patient_insurances.relationship_code, ${SUBSCRIBER_SELF}) = ${SUBSCRIBER_SELF}
    then concat(patients.last_name, ', ', patients.first_name)
    when guarantors.last_name is not null then concat(guarantors.last_name, ', ', guarantors.first_name) end`;
}

/** Appointments that only touch do not overlap. Local times are compared first, because they are indexed. */
function overlaps(sql: Query, { startsAt, utcOffset = null, minutes }: Slot, rowOffset: Fragment) {
  const start = instant(sql, sql`${startsAt}::timestamp`, sql`${utcOffset}`);
  return sql`
    starts_at between ${startsAt}::timestamp - interval '2 days' and ${startsAt}::timestamp + interval '2 days'
    and ${instant(sql, sql`starts_at`, rowOffset)} < ${start} + make_interval(mins => ${minutes}::int)
    and ${instant(sql, sql`starts_at`, rowOffset)} + make_interval(mins => minutes) > ${start}`;
}

/** An offset that the local time does not have, because the appointment was moved since, is ignored. */
function instant(sql: Query, local: Fragment, offset: Fragment) {
  const zone = sql`(select time_zone from practice)`;
  const exact = sql`((${local} - ${offset}::text::interval) at time zone 'UTC')`;
  return sql`case when ${exact} at time zone ${zone} = ${local} then ${exact} else ${local} at time zone ${zone} end`;
}

function conflict(conflictType: 'APPOINTMENT' | 'BLOCK', conflictDetails: string): EmrError {
  return new EmrError('CONFLICT', `The provider is not free. ${conflictDetails}`, { conflictType, conflictDetails });
}
