import type * as fhir from 'fhir/r4.js';
import type { AppointmentSource } from '../../../model/records/appointments.ts';
import type { VisitCodeSource } from '../../../model/records/visitTypes.ts';
import { addDays, formatInstant } from '../../../platform/time/days.ts';
import type { MrnRule } from '../../connector.ts';
import { unsupportedField } from '../../emrFailure.ts';
import type { AppointmentSearch, LiveAppointment } from '../../operations/appointments.ts';
import type { Listing } from '../../operations/operation.ts';
import { withoutTextMarker } from '../../textMarkers.ts';
import { isReadByDays, readList } from '../listReads.ts';
import { incrementalList, type List, wholeList } from '../lists.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { isReplaced, readMrn } from '../patients/mrn.ts';
import { home_uses } from '../patients/patients.ts';
import {
  canSearch,
  createResolver,
  type Emr,
  loadReferredRoles,
  practitionerId,
  type Resolver,
  readActors,
  refId,
  refIds,
  requiredDays,
} from '../references.ts';
import { lists, reads, searches } from '../transport/capabilities.ts';
import type { SearchParams } from '../transport/search.ts';
import {
  code_systems,
  contactValue,
  hasCode,
  list,
  number,
  readCode,
  readLabel,
  readName,
  searchDays,
  text,
  toOffsetTime,
  toSex,
} from '../values.ts';
import { loadSlotOwners, type ScheduleOwner } from './slots.ts';

export const appointments: List<fhir.Appointment, AppointmentSource> = { type: 'Appointment', toSources };

/** Filters the results again, because a server may ignore a criterion or interpret it more broadly. */
export async function findAppointments(emr: Emr, search: AppointmentSearch): Promise<LiveAppointment[]> {
  const { client } = emr;
  const { days, patient_ehr_id, provider_ehr_ids } = search;
  const params: SearchParams = { ...(days && { date: searchDays(days.from, days.to) }) };
  if (patient_ehr_id !== undefined) {
    const param = ['patient', 'actor'].find((name) => canSearch(client, 'Appointment', [name]));
    // Without days, every appointment of the practice would be read.
    if (param === undefined && !days) throw unsupportedField('mrn');
    if (param !== undefined) params[param] = `Patient/${patient_ehr_id}`;
  }
  const required = requiredDays(client, 'Appointment');
  const matches =
    required && days && patient_ehr_id === undefined
      ? await collectDays(emr, days)
      : await client.searchAll<fhir.Appointment>('Appointment', { ...required, ...params });
  const sources = await toSources(matches, emr, createResolver(client));
  return sources
    .filter(({ starts, patient_ehr_id: patient, provider_ehr_id, secondary_provider_ehr_id }) => {
      const day = starts.slice(0, 10);
      const providers = [provider_ehr_id, secondary_provider_ehr_id];
      return (
        (!days || (day >= days.from && day <= days.to)) &&
        (patient_ehr_id === undefined || patient === patient_ehr_id) &&
        (provider_ehr_ids?.some((id) => providers.includes(id)) ?? true)
      );
    })
    .map((source) => ({ ...source, created_by: null }));
}

/** From a server that lists appointments only for one participant each. */
async function collectDays(emr: Emr, { from, to }: { from: string; to: string }): Promise<fhir.Appointment[]> {
  const window = { from: addDays(from, -1), to: addDays(to, 1) };
  const all: fhir.Appointment[] = [];
  for await (const { matches } of readList<fhir.Appointment>(emr, 'Appointment', {}, window)) all.push(...matches);
  return all;
}

export async function getAppointment(emr: Emr, ehr_id: string): Promise<AppointmentSource | undefined> {
  const appointment = await emr.client.read<fhir.Appointment>('Appointment', ehr_id);
  return appointment && (await toSources([appointment], emr, createResolver(emr.client)))[0];
}

/** FHIR's appointment statuses, without `entered-in-error`. */
export async function* listVisitStatuses(): AsyncGenerator<VisitCodeSource[]> {
  yield standard_statuses.map(([code, description]) => ({ ehr_id: code, code, description, minutes: null }));
}

export function visitTypes(emr: Emr): Listing<VisitCodeSource> {
  return wholeList(emr, ['Schedule'], () => listVisitTypes(emr));
}

/** FHIR's appointment types, and the service types of this practice's schedules. */
async function* listVisitTypes(emr: Emr): AsyncGenerator<VisitCodeSource[]> {
  const types = await loadVisitTypes(emr);
  yield [...types].map(([code, { coding }]) => ({
    ehr_id: code,
    code,
    description: text(coding.display) ?? code,
    minutes: null,
  }));
}

/** A visit type, and the field of an appointment that contains it. */
export type VisitType = { field: 'appointmentType' | 'serviceType'; coding: fhir.Coding };

export async function loadVisitTypes(emr: Emr): Promise<Map<string, VisitType>> {
  const types = new Map<string, VisitType>();
  for (const [code, display] of standard_types)
    types.set(code, { field: 'appointmentType', coding: { system: visit_type_system, code, display } });
  for await (const services of readServices(emr)) {
    for (const coding of services.flatMap((each) => list(each.coding))) {
      const code = text(coding.code);
      if (code !== null && !types.has(code)) types.set(code, { field: 'serviceType', coding });
    }
  }
  return types;
}

/** The services of all schedules. Where those cannot be listed: of the appointments of the next days. */
async function* readServices(emr: Emr): AsyncGenerator<fhir.CodeableConcept[]> {
  const { capabilities } = emr.client;
  if (capabilities.listsAll('Schedule')) {
    for await (const { matches } of emr.client.search<fhir.Schedule>('Schedule', {})) {
      yield matches.flatMap(({ serviceType }) => list(serviceType));
    }
  } else if (isReadByDays(emr.client, 'Appointment')) {
    for await (const { matches } of readList<fhir.Appointment>(emr, 'Appointment', {}, 'near')) {
      yield matches.flatMap(({ serviceType }) => list(serviceType));
    }
  }
}

const visit_type_system = 'http://terminology.hl7.org/CodeSystem/v2-0276';
const standard_types = [
  ['CHECKUP', 'A routine check-up, such as an annual physical'],
  ['EMERGENCY', 'Emergency appointment'],
  ['FOLLOWUP', 'A follow up visit from a previous appointment'],
  ['ROUTINE', 'Routine appointment - default if not valued'],
  ['WALKIN', 'A previously unscheduled walk-in visit'],
] as const;

const standard_statuses = [
  ['proposed', 'Proposed'],
  ['pending', 'Pending'],
  ['booked', 'Booked'],
  ['arrived', 'Arrived'],
  ['fulfilled', 'Fulfilled'],
  ['cancelled', 'Cancelled'],
  ['noshow', 'No Show'],
  ['checked-in', 'Checked In'],
  ['waitlist', 'Waitlisted'],
] as const;

/** Records that an appointment refers to. */
type RelatedRecords = {
  mrn_rule: MrnRule | undefined;
  patients: ReadonlyMap<string, fhir.Patient>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
  /** Of the slots of appointments without a provider, by appointment id. */
  owners: ReadonlyMap<string, ScheduleOwner>;
};

/** Skips appointments without a time (requests) and those entered in error. */
async function toSources(page: fhir.Appointment[], emr: Emr, resolver: Resolver): Promise<AppointmentSource[]> {
  const actors = page.flatMap(readActors);
  const related: RelatedRecords = {
    mrn_rule: emr.client.mrn_rule,
    patients: await resolver.load<fhir.Patient>('Patient', refIds(actors, 'Patient')),
    roles: await loadReferredRoles(resolver, actors),
    owners: await loadSlotOwners(emr.client, page, resolver),
  };
  return page.map((each) => toAppointment(each, related, emr.timezone)).filter((each) => each !== undefined);
}

export function toAppointment(
  appointment: fhir.Appointment,
  related: RelatedRecords,
  timezone: string,
): AppointmentSource | undefined {
  const starts = toOffsetTime(appointment.start, timezone);
  if (starts === null || appointment.status === 'entered-in-error') return undefined;
  const [provider, secondary] = readProviders(appointment, related);
  return {
    ehr_id: appointment.id ?? '',
    starts,
    minutes: readMinutes(appointment),
    facility_ehr_id: readLocation(appointment) ?? related.owners.get(appointment.id ?? '')?.facility_ehr_id ?? '',
    cancelled: isTimeFree(appointment),
    status: text(appointment.status) ?? '',
    appointment_mode: null,
    appointment_type: readVisitType(appointment) ?? '',
    practice_id: null,
    reason: readLabel(list(appointment.reasonCode)[0]) ?? text(appointment.description),
    complaint_type: null,
    ...toPatient(appointment, related),
    provider_ehr_id: provider ?? '',
    secondary_provider_ehr_id: secondary ?? null,
    insurance_subscriber: null,
    insurances: [],
    diagnoses: list(appointment.reasonCode)
      .filter((reason) => list(reason.coding).some(({ system }) => system?.includes('icd-10')))
      .map((reason) => ({ code: readCode(reason), description: readLabel(reason) })),
    medications: [],
    note: withoutTextMarker(text(appointment.comment)),
    progress_note: null,
    created_at: toInstant(appointment.created),
  };
}

/** Whether the appointment does not occupy its time: cancelled, missed, or not confirmed yet. */
export function isTimeFree({ status }: fhir.Appointment): boolean {
  return free_statuses.has(status);
}
const free_statuses: ReadonlySet<string> = new Set(['proposed', 'cancelled', 'noshow', 'entered-in-error', 'waitlist']);

/** EMR ids of the providers, the primary one first. */
export function readProviders(
  appointment: fhir.Appointment,
  { roles, owners }: Pick<RelatedRecords, 'roles' | 'owners'>,
): string[] {
  const providers = list(appointment.participant).flatMap(({ actor, type }) => {
    const id = practitionerId(actor, roles);
    const secondary = list(type).some((each) => hasCode(each, code_systems.participation, ['SPRF']));
    return id === null ? [] : [{ id, secondary }];
  });
  const owner = owners.get(appointment.id ?? '');
  if (providers.length === 0 && owner) return [owner.provider_ehr_id];
  return providers.sort((a, b) => Number(a.secondary) - Number(b.secondary)).map(({ id }) => id);
}

export function readMinutes({ start, end, minutesDuration }: fhir.Appointment): number {
  const between = Math.round((Date.parse(end ?? '') - Date.parse(start ?? '')) / 60_000);
  const declared = number(minutesDuration) ?? 0;
  return between > 0 ? between : Math.max(0, Math.round(declared));
}

/** FHIR has two fields for the kind of visit. */
export function readVisitType({ appointmentType, serviceType }: fhir.Appointment): string | null {
  return readCode(appointmentType) ?? readCode(list(serviceType)[0]);
}

export function readLocation(appointment: fhir.Appointment): string | undefined {
  return refIds(readActors(appointment), 'Location')[0];
}

function toPatient(appointment: fhir.Appointment, { patients, mrn_rule }: RelatedRecords) {
  const reference = readActors(appointment).find((actor) => refId(actor, 'Patient') !== null);
  const id = refId(reference, 'Patient');
  return toBookedPatient(id, patients.get(id ?? ''), mrn_rule, text(reference?.display));
}

/** The patient of an appointment. `display`: how the appointment names someone whose record cannot be read. */
export function toBookedPatient(
  id: string | null,
  patient: fhir.Patient | undefined,
  mrn_rule: MrnRule | undefined,
  display: string | null,
) {
  const name = readName(patient?.name);
  return {
    patient_name: name.full ?? display,
    patient_first_name: name.first,
    patient_last_name: name.last,
    patient_mrn: patient && !isReplaced(patient) ? readMrn(patient, mrn_rule) : null,
    patient_ehr_id: id,
    patient_dob: text(patient?.birthDate)?.match(/^\d{4}-\d\d-\d\d$/)?.[0] ?? null,
    patient_gender: patient ? toSex(patient.gender) : null,
    patient_phone: contactValue(patient?.telecom, 'phone', [...home_uses, 'mobile']),
  };
}

function toInstant(moment: string | undefined): string | null {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text(moment) ?? '') ? Date.parse(moment ?? '') : Number.NaN;
  return formatInstant(ms);
}

export const appointment_operations: readonly FhirOperation[] = [
  { operation: 'listVisitTypes', requires: [searches('Appointment')], open: visitTypes },
  { operation: 'listVisitStatuses', requires: [searches('Appointment')], open: () => listVisitStatuses },
  {
    operation: 'listAppointments',
    requires: [lists('Appointment')],
    open: (emr) => incrementalList(emr, appointments),
  },
  { operation: 'getAppointment', requires: [reads('Appointment')], open: reading(getAppointment) },
  {
    operation: 'findAppointments',
    requires: [searches('Appointment', 'date')],
    field_requires: { mrn: [searches('Appointment', 'patient|actor')] },
    open: reading(findAppointments),
  },
];
