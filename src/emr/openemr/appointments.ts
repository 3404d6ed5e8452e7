import type * as fhir from 'fhir/r4.js';
import type { AppointmentSource } from '../../model/records/appointments.ts';
import { addDays } from '../../platform/time/days.ts';
import { todayIn, withOffset } from '../../platform/time/zones.ts';
import { toBookedPatient } from '../fhir/appointments/appointments.ts';
import { createResolver, type Resolver } from '../fhir/references.ts';
import type { AppointmentSearch, LiveAppointment } from '../operations/appointments.ts';
import type { Listing } from '../operations/operation.ts';
import { withoutTextMarker } from '../textMarkers.ts';
import { type OpenEmr, type OpenEmrOperation, reading, readPatient, scopes } from './operation.ts';
import { field, type Row } from './rows.ts';

/**
 * Appointments are read from OpenEMR's own API. FHIR's have no length, no category that can be booked, and the status
 * `proposed` for every appointment whose status nobody has changed yet.
 */
export function listAppointments(emr: OpenEmr): Listing<AppointmentSource> {
  const list: Listing<AppointmentSource> = async function* ({ since } = {}) {
    const resolver = createResolver(emr.fhir.client);
    const rows = await readAll(emr);
    // Of older appointments without an end, only the status could still change. The next full list has it.
    const recent = [since ?? '', todayIn(emr.timezone)].map((day) => day.slice(0, 10)).sort()[0] ?? '';
    const from = recent === '' ? '' : addDays(recent, -1);
    const listed = rows.filter((row) => hasEnd(row) || (field(row, 'pc_eventDate') ?? '') >= from);
    for (let n = 0; n < listed.length || n === 0; n += page_size) {
      yield await toSources(emr, listed.slice(n, n + page_size), resolver);
    }
  };
  const findDeleted: Listing<AppointmentSource>['findDeleted'] = async (stored_ids) => {
    const present = new Set((await readAll(emr)).map(readId));
    return stored_ids.filter((id) => !present.has(id));
  };
  return Object.assign(list, { incremental: true as const, findDeleted });
}

const page_size = 100;

async function getAppointment(emr: OpenEmr, ehr_id: string): Promise<AppointmentSource | undefined> {
  const row = await readAppointment(emr, ehr_id);
  return row && (await toSources(emr, [row], createResolver(emr.fhir.client)))[0];
}

/** Filters on our side: OpenEMR ignores criteria that it does not know, and returns everything. */
async function findAppointments(emr: OpenEmr, search: AppointmentSearch): Promise<LiveAppointment[]> {
  const { days, patient_ehr_id, provider_ehr_ids } = search;
  const rows = patient_ehr_id === undefined ? await readAll(emr) : await readChart(emr, patient_ehr_id);
  const matches = rows.filter((row) => {
    const day = field(row, 'pc_eventDate') ?? '';
    return (
      (!days || (day >= days.from && day <= days.to)) &&
      (patient_ehr_id === undefined || field(row, 'puuid') === patient_ehr_id) &&
      (provider_ehr_ids?.includes(field(row, 'pce_aid_uuid') ?? '') ?? true)
    );
  });
  const sources = await toSources(emr, matches, createResolver(emr.fhir.client));
  return sources.map((source) => ({ ...source, created_by: null }));
}

async function readChart(emr: OpenEmr, patient_ehr_id: string): Promise<Row[]> {
  const patient = await readPatient(emr, patient_ehr_id);
  const number = patient && field(patient, 'pid', 'id');
  return number ? readPatientAppointments(emr, number) : [];
}

/** Without events that belong to no patient, such as the hours of a provider. */
export async function readAll({ rest }: OpenEmr): Promise<Row[]> {
  const rows = await rest.list({ path: ['appointment'], scope: 'appointment.read' });
  return rows.filter((row) => field(row, 'puuid') !== null && readId(row) !== '');
}

export function readPatientAppointments({ rest }: OpenEmr, patient_number: string): Promise<Row[]> {
  return rest.list({ path: ['patient', patient_number, 'appointment'], scope: 'appointment.read' });
}

/** The only response with the length and the text of an appointment. */
export async function readAppointment({ rest }: OpenEmr, ehr_id: string): Promise<Row | undefined> {
  if (!/^\d+$/.test(ehr_id)) return undefined;
  return rest.read({ path: ['appointment', ehr_id], scope: 'appointment.read' });
}

export function readId(row: Row): string {
  return field(row, 'pc_eid') ?? '';
}

/** Whether the time is free again: cancelled, left without a visit, or not shown up. */
export function isCancelled(row: Row): boolean {
  return cancelled_statuses.has(field(row, 'pc_apptstatus') ?? '');
}

const cancelled_statuses: ReadonlySet<string> = new Set(['x', '%', '!', '?']);

/** When an appointment starts and ends, in minutes of its day. */
export async function readTimes(emr: OpenEmr, row: Row): Promise<{ from_min: number; to_min: number }> {
  const from_min = toMinutes(field(row, 'pc_startTime'));
  return { from_min, to_min: from_min + (await readLength(emr, row)).minutes };
}

/** Appointments that were booked through the API have 00:00 as their end, and their length in their own record only. */
async function readLength(emr: OpenEmr, row: Row): Promise<{ minutes: number; detailed: Row }> {
  const detailed = hasEnd(row) || 'pc_duration' in row ? row : ((await readAppointment(emr, readId(row))) ?? row);
  const between = toMinutes(field(row, 'pc_endTime')) - toMinutes(field(row, 'pc_startTime'));
  const minutes = hasEnd(row) ? between : Math.round(Number(field(detailed, 'pc_duration') ?? 0) / 60);
  return { minutes, detailed };
}

function hasEnd(row: Row): boolean {
  return toMinutes(field(row, 'pc_endTime')) > toMinutes(field(row, 'pc_startTime'));
}

function toMinutes(clock: string | null): number {
  const [, hours = '0', minutes = '0'] = /^(\d\d):(\d\d)/.exec(clock ?? '') ?? [];
  return Number(hours) * 60 + Number(minutes);
}

async function toSources(emr: OpenEmr, rows: readonly Row[], resolver: Resolver): Promise<AppointmentSource[]> {
  const ids = rows.flatMap((row) => field(row, 'puuid') ?? []);
  const patients = await resolver.load<fhir.Patient>('Patient', ids);
  const facilities = await emr.people.facilities();
  const sources: AppointmentSource[] = [];
  for (const row of rows) {
    const { minutes, detailed } = await readLength(emr, row);
    const patient_ehr_id = field(row, 'puuid');
    const facility = facilities.find(({ number }) => number === field(row, 'pc_facility'));
    const clock = field(row, 'pc_startTime')?.slice(0, 5) ?? '00:00';
    sources.push({
      ehr_id: readId(row),
      starts: withOffset(`${field(row, 'pc_eventDate')}T${clock}:00`, emr.timezone),
      minutes,
      facility_ehr_id: facility?.ehr_id ?? '',
      cancelled: isCancelled(row),
      status: field(row, 'pc_apptstatus') ?? '',
      appointment_mode: null,
      appointment_type: field(row, 'pc_catid') ?? '',
      practice_id: null,
      reason: field(row, 'pc_title'),
      complaint_type: null,
      ...toBookedPatient(
        patient_ehr_id,
        patients.get(patient_ehr_id ?? ''),
        emr.fhir.client.mrn_rule,
        [field(row, 'fname'), field(row, 'lname')].filter((each) => each !== null).join(' '),
      ),
      provider_ehr_id: field(row, 'pce_aid_uuid') ?? '',
      secondary_provider_ehr_id: null,
      insurance_subscriber: null,
      insurances: [],
      diagnoses: [],
      medications: [],
      note: readNote(detailed),
      progress_note: null,
      created_at: null,
    });
  }
  return sources;
}

/** The text of an appointment without our marker, which is its last line. */
function readNote(row: Row): string | null {
  return withoutTextMarker(field(row, 'pc_hometext'));
}

export const appointment_operations: readonly OpenEmrOperation[] = [
  { operation: 'listAppointments', requires: [scopes('appointment.read', 'facility.read')], open: listAppointments },
  {
    operation: 'getAppointment',
    requires: [scopes('appointment.read', 'facility.read')],
    open: reading(getAppointment),
  },
  {
    operation: 'findAppointments',
    requires: [scopes('appointment.read', 'facility.read', 'patient.read')],
    open: reading(findAppointments),
  },
];
