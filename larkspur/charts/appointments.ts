import { type Static, Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { Page, RecordKind } from '../machine/recordKind.ts';
import { flag, id, idOrNull, longTextOrNull, minutes, moment, text, textOrNull, wallTime } from '../practice/fields.ts';
import { SUBSCRIBER_SELF } from './patientInsurances.ts';

const row = Type.Object({
  appointmentId: id,
  patientId: id,
  providerId: id,
  secondaryProviderId: idOrNull,
  facilityId: id,
  startsAt: wallTime,
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
  createdAt: moment,
});

export const appointments: RecordKind<typeof row> = {
  table: 'appointments',
  record: 'appointment',
  id: 'appointmentId',
  row,
  blank: {
    minutes: 20,
    statusCode: 'PEN',
    visitTypeCode: 'OV',
    mode: 'OFFICE',
    newPatientFlag: 'N',
    lockedFlag: 'N',
    diagnoses: [],
    medications: [],
  },
  made: 'createdAt',
};

/** An appointment as the API gives it: with its patient, and the insurance that the patient has. */
export interface Appointment extends Omit<Static<typeof row>, 'lockedFlag'> {
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
}

/** Both days are included. */
export function betweenDays(sql: Query, { from, to }: AppointmentFilters): Fragment {
  return sql`
    true
    ${from === undefined ? sql`` : sql`and starts_at >= ${from}::date`}
    ${to === undefined ? sql`` : sql`and starts_at < ${to}::date + 1`}`;
}

export async function listAppointments(sql: Query, filters: AppointmentFilters, { page, pageSize }: Page) {
  const { patientId } = filters;
  const ofPatient = patientId === undefined ? sql`` : sql`and appointments.patient_id = ${patientId}`;
  const filter = sql`${betweenDays(sql, filters)} ${ofPatient}`;
  const [counted] = await sql<{ total: number }[]>`select count(*)::int as total from appointments where ${filter}`;
  const rows = await sql<Appointment[]>`
    ${select(sql)} where ${filter} order by length(appointment_id), appointment_id
    limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

export async function getAppointment(sql: Query, appointmentId: string): Promise<Appointment> {
  const [appointment] = await sql<Appointment[]>`${select(sql)} where appointment_id = ${appointmentId}`;
  if (!appointment) throw new EmrError('NOT_FOUND', `No appointment with id '${appointmentId}'.`);
  return appointment;
}

function select(sql: Query): Fragment {
  return sql`
    select appointment_id, (select practice_id from practice) as practice_id, appointments.patient_id, mrn,
      json_build_object('lastName', last_name, 'firstName', first_name,
        'birthDate', to_char(birth_date, 'MM/DD/YYYY'), 'sexCode', sex_code,
        'phone', coalesce(cell_phone, home_phone)) as patient,
      provider_id, secondary_provider_id, facility_id, starts_at, minutes, status_code, visit_type_code, mode, reason,
      complaint_type, note, progress_note, new_patient_flag, appointments.created_at,
      coalesce((
        select json_agg(json_build_object('name', company_name, 'subscriberName', ${subscriberName(sql)},
          'subscriberNumber', subscriber_number, 'groupNumber', group_number, 'priority', priority)
          order by priority, length(insurance_id), insurance_id)
        from patient_insurances left join guarantors using (guarantor_id)
        where patient_insurances.patient_id = appointments.patient_id and active_flag = 'Y'), '[]') as insurances,
      diagnoses, medications
    from appointments join patients using (patient_id)`;
}

/** Whoever the insurance is in the name of, as far as the chart says: the patient, or the guarantor of that insurance. */
function subscriberName(sql: Query): Fragment {
  return sql`case when coalesce(patient_insurances.relationship_code, ${SUBSCRIBER_SELF}) = ${SUBSCRIBER_SELF}
    then concat(patients.last_name, ', ', patients.first_name)
    when guarantors.last_name is not null then concat(guarantors.last_name, ', ', guarantors.first_name) end`;
}
