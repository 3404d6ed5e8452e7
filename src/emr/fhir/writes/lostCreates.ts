import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import { EmrFailure } from '../../connector.ts';
import type { NewAppointment, NewPatient } from '../../patientWrites.ts';
import { nameForms } from '../charts/searchPatients.ts';
import { dayOf, daysAround } from '../clock.ts';
import { isReplaced } from '../mrn.ts';
import { canSearch, type Emr, refIds } from '../references.ts';
import type { FhirClient } from '../transport/client.ts';
import { unproven } from '../transport/creates.ts';
import { markersOf } from '../transport/markers.ts';
import { clock_tolerance_ms, isOlderThan } from '../transport/sameRecord.ts';
import { list, nameOf } from '../values.ts';

/**
 * Lost creates on servers that have not shown that they keep our markers. That no record has the marker proves nothing
 * there, so the record is also looked for by what was sent.
 */

export function canFindLostPatient(client: FhirClient): boolean {
  return client.canFind('Patient') || canSearch(client, 'Patient', ['birthdate', 'family']);
}

/**
 * The chart that a lost create stored: by its marker, else the only new one with this name and birth date. Undefined if
 * there is none; throws `unknown_outcome` if that cannot be told.
 */
export async function findLostPatient(emr: Emr, input: NewPatient, marker: string): Promise<fhir.Patient | undefined> {
  const { client } = emr;
  const marked = await findMarked<fhir.Patient>(client, 'Patient', marker);
  if (marked || (await provesMarkers(client, 'Patient'))) return marked;
  if (!canSearch(client, 'Patient', ['birthdate', 'family'])) throw unproven();
  const { first_name = '', last_name = '', dob = '' } = input;
  const found = await client.searchAll<fhir.Patient>('Patient', {
    birthdate: [`ge${dob}`, `le${dob}`],
    family: nameForms(last_name ?? ''),
  });
  const alike = found.filter((patient) => {
    const name = nameOf(patient.name);
    const same_name =
      fold(name.first ?? '') === fold(first_name ?? '') && fold(name.last ?? '') === fold(last_name ?? '');
    return same_name && dayOf(patient.birthDate, emr.timezone) === dob && !isReplaced(patient);
  });
  return onlyNew(alike, marker);
}

/**
 * The same before a create: what an earlier attempt stored on a server that cannot be searched by marker. If that cannot
 * be told, it is a first attempt, because a repeated one is looked up by `findLostPatient` first.
 */
export async function findEarlierPatient(
  emr: Emr,
  input: NewPatient,
  marker: string,
): Promise<fhir.Patient | undefined> {
  if (emr.client.canFind('Patient') || !canFindLostPatient(emr.client)) return undefined;
  return findLostPatient(emr, input, marker).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.kind === 'unknown_outcome') return undefined;
    throw error;
  });
}

/**
 * The appointment that a lost create stored, by its marker. Undefined if the patient has no appointment at this time that
 * could be it; throws `unknown_outcome` if that cannot be told.
 */
export async function findLostAppointment(
  { client }: Emr,
  input: Pick<NewAppointment, 'patient_ehr_id'>,
  start_ms: number,
  marker: string,
): Promise<fhir.Appointment | undefined> {
  const marked = await findMarked<fhir.Appointment>(client, 'Appointment', marker);
  if (marked || (await provesMarkers(client, 'Appointment'))) return marked;
  const param = patientParam(client);
  if (param === undefined) throw unproven();
  const day = new Date(start_ms).toISOString().slice(0, 10);
  const found = await client.searchAll<fhir.Appointment>('Appointment', {
    [param]: `Patient/${input.patient_ehr_id}`,
    ...(canSearch(client, 'Appointment', ['date']) && { date: daysAround(day, day) }),
  });
  const alike = found.filter(
    ({ start, participant }) =>
      Date.parse(start ?? '') === start_ms &&
      refIds(
        list(participant).map(({ actor }) => actor),
        'Patient',
      ).includes(input.patient_ehr_id),
  );
  // An account may be allowed to create appointments and not to see them.
  if (found.length === 0 && !client.capabilities.finds('Appointment', param)) throw unproven();
  const lost = onlyNew(alike, marker);
  // Someone else may have booked it: a new one without our marker is not ours for certain.
  if (lost && !markersOf(lost).includes(marker)) throw unproven();
  return lost;
}

function patientParam(client: FhirClient): string | undefined {
  return ['patient', 'actor'].find((param) => canSearch(client, 'Appointment', [param]));
}

async function findMarked<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  marker: string,
): Promise<T | undefined> {
  return client.canFind(type) ? client.findByMarker<T>(type, marker) : undefined;
}

/** If a search by marker says nothing, the record is looked for by what was sent. */
async function provesMarkers(client: FhirClient, type: fhir.FhirResource['resourceType']): Promise<boolean> {
  return client.provesMarkers(type).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.kind === 'unknown_outcome') return false;
    throw error;
  });
}

/**
 * The record with our marker, which a server may keep without searching by it, else the only one without any marker that
 * may have been stored since the write was requested.
 */
function onlyNew<T extends fhir.FhirResource>(records: readonly T[], marker: string): T | undefined {
  const ours = records.find((record) => markersOf(record).includes(marker));
  if (ours) return ours;
  const since_ms = requestedAt(marker) - clock_tolerance_ms;
  const recent = records.filter((record) => !isOlderThan(record, since_ms) && markersOf(record).length === 0);
  const [only, ...more] = recent;
  // Without a time, or after a change, a record may be much older than it seems.
  const certain = recent.every(
    ({ meta }) => meta?.lastUpdated !== undefined && !/^([2-9]|\d{2,})$/.test(meta.versionId ?? ''),
  );
  if (more.length > 0 || !certain) throw unproven();
  return only;
}

/** When the operation was accepted: its id, with which the marker starts, begins with the time (UUID v7). */
function requestedAt(marker: string): number {
  const at_ms = Number.parseInt(marker.slice(0, 12), 16);
  const is_dated = /^[0-9a-f]{12}7/.test(marker) && at_ms <= Date.now() && at_ms > Date.now() - operation_age_max_ms;
  return is_dated ? at_ms : Date.now() - retry_time_max_ms;
}

const operation_age_max_ms = 366 * 24 * 60 * 60_000;
/** A lost write is retried for an hour. */
const retry_time_max_ms = 60 * 60_000;
