import type * as fhir from 'fhir/r4.js';
import type { AppointmentSource } from '../../../model/records/appointments.ts';
import type { MrnRule } from '../../connector.ts';
import { offsetTime } from '../clock.ts';
import { isReplaced, mrnOf } from '../mrn.ts';
import { createResolver, type Emr, type Resolver, refId, refIds } from '../references.ts';
import { codeOf, contactValue, hasCode, labelOf, list, nameOf, number, text, toSex } from '../values.ts';
import { home_uses } from './patients.ts';
import type { List } from './readList.ts';
import { loadSlotOwners, type ScheduleOwner } from './slots.ts';

export const appointments: List<fhir.Appointment, AppointmentSource> = { type: 'Appointment', toSources };

export async function getAppointment(emr: Emr, ehr_id: string): Promise<AppointmentSource | undefined> {
  const found = await emr.client.read<fhir.Appointment>('Appointment', ehr_id);
  return found && (await toSources([found], emr, createResolver(emr.client)))[0];
}

/** Records that an appointment refers to. */
export type RelatedRecords = {
  mrn_rule: MrnRule | undefined;
  patients: ReadonlyMap<string, fhir.Patient>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
  /** Of the slots of appointments without a provider, by appointment id. */
  owners: ReadonlyMap<string, ScheduleOwner>;
};

/** Skips appointments without a time (requests) and those entered in error. */
async function toSources(page: fhir.Appointment[], emr: Emr, resolver: Resolver): Promise<AppointmentSource[]> {
  const actors = page.flatMap(actorsOf);
  const related: RelatedRecords = {
    mrn_rule: emr.client.mrn_rule,
    patients: await resolver.load<fhir.Patient>('Patient', refIds(actors, 'Patient')),
    roles: await resolver.load<fhir.PractitionerRole>('PractitionerRole', refIds(actors, 'PractitionerRole')),
    owners: await loadSlotOwners(emr.client, page, resolver),
  };
  return page.map((each) => toAppointment(each, related, emr.timezone)).filter((each) => each !== undefined);
}

export function toAppointment(
  appointment: fhir.Appointment,
  related: RelatedRecords,
  timezone: string,
): AppointmentSource | undefined {
  const starts = offsetTime(appointment.start, timezone);
  if (starts === null || appointment.status === 'entered-in-error') return undefined;
  const [provider, secondary] = providersOf(appointment, related);
  return {
    ehr_id: appointment.id ?? '',
    starts,
    minutes: minutesOf(appointment),
    facility_ehr_id: locationOf(appointment) ?? related.owners.get(appointment.id ?? '')?.facility_ehr_id ?? '',
    cancelled: isTimeFree(appointment),
    status: text(appointment.status) ?? '',
    appointment_mode: null,
    appointment_type: visitTypeOf(appointment) ?? '',
    practice_id: null,
    reason: labelOf(list(appointment.reasonCode)[0]) ?? text(appointment.description),
    complaint_type: null,
    ...toPatient(appointment, related),
    provider_ehr_id: provider ?? '',
    secondary_provider_ehr_id: secondary ?? null,
    insurance_subscriber: null,
    insurances: [],
    diagnoses: list(appointment.reasonCode)
      .filter((reason) => list(reason.coding).some(({ system }) => system?.includes('icd-10')))
      .map((reason) => ({ code: codeOf(reason), description: labelOf(reason) })),
    medications: [],
    note: text(appointment.comment),
    progress_note: null,
    created_at: instantOf(appointment.created),
  };
}

/** Whether the appointment does not occupy its time: cancelled, missed, or not confirmed yet. */
export function isTimeFree({ status }: fhir.Appointment): boolean {
  return free_statuses.has(status);
}
const free_statuses: ReadonlySet<string> = new Set(['proposed', 'cancelled', 'noshow', 'entered-in-error', 'waitlist']);

/** EMR ids of the providers, the primary one first. */
export function providersOf(
  appointment: fhir.Appointment,
  { roles, owners }: Pick<RelatedRecords, 'roles' | 'owners'>,
): string[] {
  const seen = list(appointment.participant).flatMap(({ actor, type }) => {
    const role = roles.get(refId(actor, 'PractitionerRole') ?? '');
    const id = refId(actor, 'Practitioner') ?? refId(role?.practitioner, 'Practitioner');
    const secondary = list(type).some((each) => hasCode(each, participation_system, ['SPRF']));
    return id === null ? [] : [{ id, secondary }];
  });
  const owner = owners.get(appointment.id ?? '');
  if (seen.length === 0 && owner) return [owner.provider_ehr_id];
  return seen.sort((a, b) => Number(a.secondary) - Number(b.secondary)).map(({ id }) => id);
}

export function minutesOf({ start, end, minutesDuration }: fhir.Appointment): number {
  const between = Math.round((Date.parse(end ?? '') - Date.parse(start ?? '')) / 60_000);
  const declared = number(minutesDuration) ?? 0;
  return between > 0 ? between : Math.max(0, Math.round(declared));
}

/** FHIR has two fields for the kind of visit. */
export function visitTypeOf({ appointmentType, serviceType }: fhir.Appointment): string | null {
  return codeOf(appointmentType) ?? codeOf(list(serviceType)[0]);
}

/** Codes for primary (`PPRF`) and secondary (`SPRF`) performers. */
export const participation_system = 'http://terminology.hl7.org/CodeSystem/v3-ParticipationType';

function actorsOf({ participant }: fhir.Appointment): (fhir.Reference | undefined)[] {
  return list(participant).map(({ actor }) => actor);
}

function locationOf(appointment: fhir.Appointment): string | undefined {
  return refIds(actorsOf(appointment), 'Location')[0];
}

function toPatient(appointment: fhir.Appointment, { patients, mrn_rule }: RelatedRecords) {
  const reference = actorsOf(appointment).find((actor) => refId(actor, 'Patient') !== null);
  const id = refId(reference, 'Patient');
  const patient = patients.get(id ?? '');
  const name = nameOf(patient?.name);
  return {
    patient_name: name.full ?? text(reference?.display),
    patient_first_name: name.first,
    patient_last_name: name.last,
    patient_mrn: patient && !isReplaced(patient) ? mrnOf(patient, mrn_rule) : null,
    patient_ehr_id: id,
    patient_dob: text(patient?.birthDate)?.match(/^\d{4}-\d\d-\d\d$/)?.[0] ?? null,
    patient_gender: patient ? toSex(patient.gender) : null,
    patient_phone: contactValue(patient?.telecom, 'phone', [...home_uses, 'mobile']),
  };
}

function instantOf(moment: string | undefined): string | null {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text(moment) ?? '') ? Date.parse(moment ?? '') : Number.NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
