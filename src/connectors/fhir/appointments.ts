import type * as fhir from 'fhir/r4.js';
import type { AppointmentSource } from '../../model/records/appointments.ts';
import { wallTime } from './clock.ts';
import type { List } from './lists.ts';
import { home_uses, isReplaced, mrnOf } from './patients.ts';
import { type Emr, idIn, idsIn, type Resolver, resolverOf } from './references.ts';
import { codeOf, contactOf, isCoded, list, nameOf, number, sexOf, text, wordsOf } from './values.ts';

export const appointments: List<fhir.Appointment, AppointmentSource> = { type: 'Appointment', sources: sourcesOf };

export async function getAppointment(emr: Emr, ehr_id: string): Promise<AppointmentSource | undefined> {
  const found = await emr.client.read<fhir.Appointment>('Appointment', ehr_id);
  return found && (await sourcesOf([found], emr, resolverOf(emr.client)))[0];
}

/** What an appointment takes from those it names. */
export type Named = {
  patients: ReadonlyMap<string, fhir.Patient>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
};

/** Without a time it is a wish, not an appointment; one that was entered in error never was. */
async function sourcesOf(page: fhir.Appointment[], emr: Emr, resolver: Resolver): Promise<AppointmentSource[]> {
  const actors = page.flatMap(actorsOf);
  const named: Named = {
    patients: await resolver.load<fhir.Patient>('Patient', idsIn(actors, 'Patient')),
    roles: await resolver.load<fhir.PractitionerRole>('PractitionerRole', idsIn(actors, 'PractitionerRole')),
  };
  return page.map((each) => appointmentOf(each, named, emr.timezone)).filter((each) => each !== undefined);
}

export function appointmentOf(
  appointment: fhir.Appointment,
  { patients, roles }: Named,
  timezone: string,
): AppointmentSource | undefined {
  const starts = wallTime(appointment.start, timezone);
  if (starts === null || appointment.status === 'entered-in-error') return undefined;
  const [provider, secondary] = providersOf(appointment, roles);
  return {
    ehr_id: appointment.id ?? '',
    starts,
    minutes: minutesOf(appointment),
    facility_ehr_id: placeOf(appointment) ?? '',
    cancelled: isFree(appointment),
    status: text(appointment.status) ?? '',
    appointment_mode: null,
    appointment_type: visitTypeOf(appointment) ?? '',
    practice_id: null,
    reason: wordsOf(list(appointment.reasonCode)[0]) ?? text(appointment.description),
    complaint_type: null,
    ...patientOf(appointment, patients),
    provider_ehr_id: provider ?? '',
    secondary_provider_ehr_id: secondary ?? null,
    insurance_subscriber: null,
    insurances: [],
    diagnoses: list(appointment.reasonCode)
      .filter((reason) => list(reason.coding).some(({ system }) => system?.includes('icd-10')))
      .map((reason) => ({ code: codeOf(reason), description: wordsOf(reason) })),
    medications: [],
    note: text(appointment.comment),
    progress_note: null,
    created_at: instantOf(appointment.created),
  };
}

/** Nobody comes, or nobody has agreed to come yet: the time may be given to somebody else. */
export function isFree({ status }: fhir.Appointment): boolean {
  return free_statuses.has(status);
}
const free_statuses: ReadonlySet<string> = new Set(['proposed', 'cancelled', 'noshow', 'entered-in-error', 'waitlist']);

/** EMR ids of those who see the patient, the one who leads first. */
export function providersOf(appointment: fhir.Appointment, roles: Named['roles']): string[] {
  const seen = list(appointment.participant).flatMap(({ actor, type }) => {
    const role = roles.get(idIn(actor, 'PractitionerRole') ?? '');
    const id = idIn(actor, 'Practitioner') ?? idIn(role?.practitioner, 'Practitioner');
    const secondary = list(type).some((each) => isCoded(each, participation, ['SPRF']));
    return id === null ? [] : [{ id, secondary }];
  });
  return seen.sort((a, b) => Number(a.secondary) - Number(b.secondary)).map(({ id }) => id);
}

export function minutesOf({ start, end, minutesDuration }: fhir.Appointment): number {
  const between = Math.round((Date.parse(end ?? '') - Date.parse(start ?? '')) / 60_000);
  const told = number(minutesDuration) ?? 0;
  return between > 0 ? between : Math.max(0, Math.round(told));
}

/** The kind of visit: FHIR has one field for its occasion and one for what is done. */
export function visitTypeOf({ appointmentType, serviceType }: fhir.Appointment): string | null {
  return codeOf(appointmentType) ?? codeOf(list(serviceType)[0]);
}

/** Who takes part and how: the first performer, the second one. */
export const participation = 'http://terminology.hl7.org/CodeSystem/v3-ParticipationType';

function actorsOf({ participant }: fhir.Appointment): (fhir.Reference | undefined)[] {
  return list(participant).map(({ actor }) => actor);
}

function placeOf(appointment: fhir.Appointment): string | undefined {
  return idsIn(actorsOf(appointment), 'Location')[0];
}

function patientOf(appointment: fhir.Appointment, patients: Named['patients']) {
  const reference = actorsOf(appointment).find((actor) => idIn(actor, 'Patient') !== null);
  const id = idIn(reference, 'Patient');
  const patient = patients.get(id ?? '');
  const name = nameOf(patient?.name);
  return {
    patient_name: name.full ?? text(reference?.display),
    patient_first_name: name.first,
    patient_last_name: name.last,
    patient_mrn: patient && !isReplaced(patient) ? mrnOf(patient) : null,
    patient_ehr_id: id,
    patient_dob: text(patient?.birthDate)?.match(/^\d{4}-\d\d-\d\d$/)?.[0] ?? null,
    patient_gender: patient ? sexOf(patient.gender) : null,
    patient_phone: contactOf(patient?.telecom, 'phone', [...home_uses, 'mobile']),
  };
}

function instantOf(moment: string | undefined): string | null {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text(moment) ?? '') ? Date.parse(moment ?? '') : Number.NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
