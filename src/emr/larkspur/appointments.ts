import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { AppointmentSource } from '../../model/records/appointments.ts';
import type { ScheduleBlockSource } from '../../model/records/scheduleBlocks.ts';
import type { VisitCodeSource } from '../../model/records/visitTypes.ts';
import type { AppointmentSearch, LiveAppointment, LiveSchedule, ScheduleSearch } from '../operations/appointments.ts';
import { collect } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import { path, requireBody } from './call.ts';
import { defineList, readPages } from './lists.ts';
import { defineWrite, type LarkspurOperation, listing, reading, toWritten } from './operation.ts';
import { providers } from './providers.ts';
import type { SendRequest } from './session.ts';
import {
  blankToNull,
  id,
  isoDate,
  isoInstant,
  isoLocalTime,
  localTime,
  text,
  textOrNull,
  toFlag,
  toSex,
  usDate,
} from './values.ts';

/** Cancelled, no-show, rescheduled: Larkspur books the time again. */
export const free_statuses: ReadonlySet<string> = new Set(['CAN', 'NOS', 'RSC']);

const Appointment = Type.Object({
  appointmentId: id,
  practiceId: textOrNull,
  patientId: id,
  mrn: id,
  patient: Type.Object({
    lastName: text,
    firstName: text,
    birthDate: textOrNull,
    sexCode: textOrNull,
    phone: textOrNull,
  }),
  providerId: id,
  secondaryProviderId: textOrNull,
  facilityId: id,
  startsAt: localTime,
  utcOffset: Type.Union([Type.String({ pattern: '^[+-][0-9]{2}:[0-9]{2}$' }), Type.Null()]),
  minutes: Type.Integer({ minimum: 1 }),
  statusCode: text,
  visitTypeCode: text,
  mode: textOrNull,
  reason: textOrNull,
  complaintType: textOrNull,
  note: textOrNull,
  progressNote: textOrNull,
  createdAt: textOrNull,
  createdBy: textOrNull,
  insurances: Type.Array(
    Type.Object({
      name: textOrNull,
      subscriberName: textOrNull,
      subscriberNumber: textOrNull,
      groupNumber: textOrNull,
      priority: Type.Union([Type.Integer(), Type.Null()]),
    }),
  ),
  diagnoses: Type.Array(Type.Object({ code: textOrNull, description: textOrNull })),
  medications: Type.Array(Type.Object({ name: textOrNull, strength: textOrNull, frequency: textOrNull })),
});

const appointments = defineList({
  path: '/api/appointments',
  row: Compile(Appointment),
  toSource: (row): AppointmentSource => ({
    ehr_id: row.appointmentId,
    starts: `${isoLocalTime(row.startsAt)}${row.utcOffset ?? ''}`,
    minutes: row.minutes,
    facility_ehr_id: row.facilityId,
    cancelled: free_statuses.has(row.statusCode),
    status: row.statusCode,
    appointment_mode: blankToNull(row.mode),
    appointment_type: row.visitTypeCode,
    practice_id: blankToNull(row.practiceId),
    reason: blankToNull(row.reason),
    complaint_type: blankToNull(row.complaintType),
    ...toPatient(row),
    provider_ehr_id: row.providerId,
    secondary_provider_ehr_id: blankToNull(row.secondaryProviderId),
    insurance_subscriber: blankToNull(row.insurances.find(({ priority }) => priority === 1)?.subscriberName ?? null),
    insurances: row.insurances.map((each) => ({
      name: blankToNull(each.name),
      subscriber_number: blankToNull(each.subscriberNumber),
      group_number: blankToNull(each.groupNumber),
      priority: each.priority,
    })),
    diagnoses: row.diagnoses.map(({ code, description }) => ({ code, description })),
    medications: row.medications.map((each) => ({
      name: each.name,
      strength: blankToNull(each.strength),
      frequency: blankToNull(each.frequency),
    })),
    note: blankToNull(row.note),
    progress_note: blankToNull(row.progressNote),
    created_at: isoInstant(row.createdAt),
  }),
});

async function getAppointment(request: SendRequest, ehr_id: string): Promise<AppointmentSource | undefined> {
  const reply = await request({ method: 'GET', path: path`/api/appointments/${ehr_id}`, schema: appointments.row });
  if (!('body' in reply) && reply.failure.kind === 'not_found') return undefined;
  return appointments.toSource(requireBody(reply));
}

const live_appointments = defineList({
  ...appointments,
  toSource: (row): LiveAppointment => ({ ...appointments.toSource(row), created_by: blankToNull(row.createdBy) }),
});

/** Larkspur searches by one provider at a time. An appointment of two of them is returned once. */
async function findAppointments(
  request: SendRequest,
  { days, patient_ehr_id, provider_ehr_ids }: AppointmentSearch,
): Promise<LiveAppointment[]> {
  const search = {
    ...(days && toDays(days)),
    ...(patient_ehr_id !== undefined && { patientId: patient_ehr_id }),
  };
  const searches = provider_ehr_ids?.map((providerId) => ({ ...search, providerId })) ?? [search];
  const matches = new Map<string, LiveAppointment>();
  for (const each of searches) {
    for (const match of await collect(readPages(request, live_appointments, each))) matches.set(match.ehr_id, match);
  }
  return [...matches.values()];
}

function toDays({ from, to }: { from: string; to: string }) {
  return { from: usDate(from), to: usDate(to) };
}

async function getSchedule(request: SendRequest, { days, provider_ehr_ids }: ScheduleSearch): Promise<LiveSchedule> {
  const listed = await collect(readPages(request, providers));
  const blocks = await collect(readPages(request, scheduleBlocks, toDays(days)));
  return {
    hours: listed
      .filter(({ ehr_id }) => provider_ehr_ids.includes(ehr_id))
      .map(({ ehr_id, hours }) => ({ provider_ehr_id: ehr_id, hours })),
    blocks: blocks.filter(({ provider_ehr_id }) => provider_ehr_ids.includes(provider_ehr_id)),
  };
}

const createAppointment = defineWrite<Operations['createAppointment']>(
  'create_appointment',
  (input) => ({
    path: '/api/appointments',
    body: {
      patientId: input.patient_ehr_id,
      providerId: input.provider_ehr_id,
      secondaryProviderId: input.secondary_provider_ehr_id,
      facilityId: input.location_ehr_id,
      startsAt: `${usDate(input.starts_at)} ${input.starts_at.slice(11, 16)}`,
      utcOffset: input.starts_at.slice(19),
      // Every visit type of Larkspur has a length.
      minutes: input.minutes,
      visitTypeCode: input.visit_type,
      reason: input.reason,
      note: input.note,
      newPatientFlag: toFlag(input.new_patient),
      preventDoubleBooking: toFlag(input.prevent_double_booking),
    },
  }),
  toWritten,
);

const updateAppointment = defineWrite<Operations['updateAppointment']>(
  'update_appointment',
  (input) => ({
    path: path`/api/appointments/${input.appointment_ehr_id}`,
    body: {
      ...(input.status !== undefined && { statusCode: input.status }),
      ...(input.note !== undefined && { note: input.note }),
      ...(input.provider_ehr_id !== undefined && { providerId: input.provider_ehr_id }),
      ...(input.location_ehr_id !== undefined && { facilityId: input.location_ehr_id }),
      ...(input.visit_type !== undefined && { visitTypeCode: input.visit_type }),
      ...(input.starts_at !== undefined && {
        startsAt: `${usDate(input.starts_at)} ${input.starts_at.slice(11, 16)}`,
        utcOffset: input.starts_at.slice(19),
      }),
      ...(input.minutes !== undefined && { minutes: input.minutes }),
      preventDoubleBooking: toFlag(input.prevent_double_booking),
    },
  }),
  toWritten,
);

const visitTypes = defineList({
  path: '/api/visit-types',
  row: Compile(Type.Object({ code: id, description: text, defaultMinutes: Type.Integer() })),
  toSource: ({ code, description, defaultMinutes }): VisitCodeSource => ({
    ehr_id: code,
    code,
    description,
    minutes: defaultMinutes,
  }),
});

const visitStatuses = defineList({
  path: '/api/visit-statuses',
  row: Compile(Type.Object({ code: id, description: text })),
  toSource: ({ code, description }): VisitCodeSource => ({ ehr_id: code, code, description, minutes: null }),
});

const scheduleBlocks = defineList({
  path: '/api/blocks',
  row: Compile(
    Type.Object({
      blockId: id,
      providerId: id,
      facilityId: textOrNull,
      startsAt: localTime,
      minutes: Type.Integer({ minimum: 1 }),
      reason: textOrNull,
    }),
  ),
  toSource: (row): ScheduleBlockSource => ({
    ehr_id: row.blockId,
    starts: isoLocalTime(row.startsAt),
    minutes: row.minutes,
    provider_ehr_id: row.providerId,
    facility_ehr_id: blankToNull(row.facilityId),
    reason: blankToNull(row.reason),
  }),
});

function toPatient({ patientId, mrn, patient }: Static<typeof Appointment>) {
  return {
    patient_name: [patient.firstName, patient.lastName].filter(Boolean).join(' '),
    patient_first_name: blankToNull(patient.firstName),
    patient_last_name: blankToNull(patient.lastName),
    patient_mrn: mrn,
    patient_ehr_id: patientId,
    patient_dob: isoDate(patient.birthDate),
    patient_gender: toSex(patient.sexCode),
    patient_phone: blankToNull(patient.phone),
  };
}

export const appointment_operations: readonly LarkspurOperation[] = [
  { operation: 'listVisitTypes', open: listing(visitTypes) },
  { operation: 'listVisitStatuses', open: listing(visitStatuses) },
  { operation: 'listAppointments', open: listing(appointments) },
  { operation: 'listScheduleBlocks', open: listing(scheduleBlocks) },
  { operation: 'getAppointment', open: reading(getAppointment) },
  { operation: 'findAppointments', open: reading(findAppointments) },
  { operation: 'getSchedule', open: reading(getSchedule) },
  { operation: 'createAppointment', open: createAppointment },
  { operation: 'updateAppointment', open: updateAppointment },
];
