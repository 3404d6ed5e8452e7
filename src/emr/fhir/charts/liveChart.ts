import type * as fhir from 'fhir/r4.js';
import type { LiveAlerts } from '../../../model/liveChart.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import type { EmrEncounter, EmrMedication } from '../../connector.ts';
import { dayOf, wallTime } from '../clock.ts';
import { isTimeFree, providersOf, visitTypeOf } from '../lists/appointments.ts';
import { loadSlotOwners, type ScheduleOwner } from '../lists/slots.ts';
import {
  canSearch,
  containedResource,
  createResolver,
  type Emr,
  onlyOf,
  type Resolver,
  refId,
  refIds,
} from '../references.ts';
import { codeOf, hasCode, labelOf, list, nameOf, notesOf, number, text } from '../values.ts';
import { isTelephoneEncounter, loadCalls, telephone_visit } from './calls.ts';

/**
 * Prescriptions, without proposals, options, "do not take" requests and entries made in error. On a server without
 * prescriptions, what the patient takes according to the chart: both together would list most medications twice.
 */
export async function listMedications(emr: Emr, patient_ehr_id: string): Promise<EmrMedication[]> {
  const { client, timezone } = emr;
  if (!canSearch(client, 'MedicationRequest', ['patient'])) return listStatements(emr, patient_ehr_id);
  const params = { patient: `Patient/${patient_ehr_id}` };
  const found = await client.searchAll<fhir.MedicationRequest>('MedicationRequest', params);
  const own = onlyOf(patient_ehr_id, found, ({ subject }) => [subject]);
  const relevant = own.filter(
    ({ status, intent, doNotPerform }) =>
      status !== 'entered-in-error' && doNotPerform !== true && intent !== 'proposal' && intent !== 'option',
  );
  const references = relevant.map(({ medicationReference }) => medicationReference);
  const known = await createResolver(client).load<fhir.Medication>('Medication', refIds(references, 'Medication'));
  return relevant.map((each) => toMedication(each, known, timezone));
}

export function toMedication(
  request: fhir.MedicationRequest,
  known: ReadonlyMap<string, fhir.Medication>,
  timezone: string,
): EmrMedication {
  const repeats = number(request.dispenseRequest?.numberOfRepeatsAllowed);
  return {
    ehr_id: request.id ?? '',
    ...drugOf(request, list(request.dosageInstruction), known),
    start_date: dayOf(request.authoredOn, timezone),
    refills: repeats === null ? null : String(repeats),
    notes: notesOf(request.note),
    active: request.status === 'active',
  };
}

async function listStatements({ client, timezone }: Emr, patient_ehr_id: string): Promise<EmrMedication[]> {
  const params = { patient: `Patient/${patient_ehr_id}` };
  const found = await client.searchAll<fhir.MedicationStatement>('MedicationStatement', params);
  const relevant = onlyOf(patient_ehr_id, found, ({ subject }) => [subject]).filter(
    ({ status }) => status !== 'entered-in-error' && status !== 'not-taken',
  );
  const references = relevant.map(({ medicationReference }) => medicationReference);
  const known = await createResolver(client).load<fhir.Medication>('Medication', refIds(references, 'Medication'));
  return relevant.map((each) => statementToMedication(each, known, timezone));
}

/** The id is prefixed, because a prescription and a statement may have the same id. */
export function statementToMedication(
  statement: fhir.MedicationStatement,
  known: ReadonlyMap<string, fhir.Medication>,
  timezone: string,
): EmrMedication {
  const { effectivePeriod, effectiveDateTime } = statement;
  return {
    ehr_id: `MedicationStatement/${statement.id ?? ''}`,
    ...drugOf(statement, list(statement.dosage), known),
    start_date: dayOf(effectivePeriod?.start ?? effectiveDateTime, timezone),
    refills: null,
    notes: notesOf(statement.note),
    active: statement.status === 'active',
  };
}

function drugOf(
  entry: fhir.MedicationRequest | fhir.MedicationStatement,
  [dosage]: readonly fhir.Dosage[],
  known: ReadonlyMap<string, fhir.Medication>,
): Pick<EmrMedication, 'name' | 'strength' | 'frequency'> {
  const { medicationReference: reference, medicationCodeableConcept: concept } = entry;
  const contained = containedResource<fhir.Medication>(entry, reference, 'Medication');
  const medication = contained ?? known.get(refId(reference, 'Medication') ?? '');
  return {
    name: labelOf(concept) ?? labelOf(medication?.code) ?? text(reference?.display) ?? '',
    strength: strengthOf(medication),
    frequency: text(dosage?.text) ?? labelOf(dosage?.timing?.code),
  };
}

function strengthOf(medication: fhir.Medication | undefined): string | null {
  const [ingredient] = list(medication?.ingredient);
  const { numerator, denominator } = ingredient?.strength ?? {};
  if (number(numerator?.value) === null) return null;
  const per = number(denominator?.value) === null || denominator?.value === 1 ? '' : `${denominator?.value} `;
  const below = text(denominator?.unit) === null ? '' : `/${per}${denominator?.unit}`;
  return `${numerator?.value} ${text(numerator?.unit) ?? ''}`.trim() + below;
}

/** Visits, and appointments that have no visit yet. */
export async function listEncounters(emr: Emr, patient_ehr_id: string): Promise<EmrEncounter[]> {
  const { client, timezone } = emr;
  const params = { patient: `Patient/${patient_ehr_id}` };
  const found = await client.searchAll<fhir.Encounter>('Encounter', params);
  const visits = onlyOf(patient_ehr_id, found, ({ subject }) => [subject]);
  const appointments = canSearch(client, 'Appointment', ['patient'])
    ? await client.searchAll<fhir.Appointment>('Appointment', params)
    : [];
  const booked = onlyOf(patient_ehr_id, appointments, ({ participant }) => list(participant).map(({ actor }) => actor));
  const visited = new Set(visits.flatMap(({ appointment }) => refIds(list(appointment), 'Appointment')));
  const upcoming = booked.filter(({ id, status }) => !visited.has(id ?? '') && status !== 'entered-in-error');
  const resolver = createResolver(client);
  const participants = await loadParticipants(client, visits, upcoming, resolver);
  const calls = await loadCalls(emr, visits, resolver);
  return [
    ...visits
      .filter(({ status }) => status !== 'entered-in-error')
      .map((each) => ({ ...toEncounter(each, participants, timezone), ...calls.get(each.id ?? '') })),
    ...upcoming.map((each) => appointmentToEncounter(each, participants, timezone)),
  ];
}

/** The providers and locations of a patient's visits. */
export type Participants = {
  practitioners: ReadonlyMap<string, fhir.Practitioner>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
  locations: ReadonlyMap<string, fhir.Location>;
  owners: ReadonlyMap<string, ScheduleOwner>;
};

async function loadParticipants(
  client: Emr['client'],
  visits: fhir.Encounter[],
  booked: fhir.Appointment[],
  resolver: Resolver,
): Promise<Participants> {
  const owners = await loadSlotOwners(client, booked, resolver);
  const actors = [
    ...[...owners.values()].flatMap(({ provider_ehr_id, facility_ehr_id }) => [
      { reference: `Practitioner/${provider_ehr_id}` },
      ...(facility_ehr_id === null ? [] : [{ reference: `Location/${facility_ehr_id}` }]),
    ]),
    ...visits.flatMap(({ participant }) => list(participant).map(({ individual }) => individual)),
    ...visits.flatMap(({ location }) => list(location).map((each) => each.location)),
    ...booked.flatMap(({ participant }) => list(participant).map(({ actor }) => actor)),
  ];
  const roles = await resolver.load<fhir.PractitionerRole>('PractitionerRole', refIds(actors, 'PractitionerRole'));
  const named = [...actors, ...[...roles.values()].map(({ practitioner }) => practitioner)];
  return {
    owners,
    roles,
    practitioners: await resolver.load<fhir.Practitioner>('Practitioner', refIds(named, 'Practitioner')),
    locations: await resolver.load<fhir.Location>('Location', refIds(actors, 'Location')),
  };
}

export function toEncounter(encounter: fhir.Encounter, participants: Participants, timezone: string): EmrEncounter {
  const [provider] = list(encounter.participant).flatMap(({ individual }) => {
    const role = participants.roles.get(refId(individual, 'PractitionerRole') ?? '');
    const id = refId(individual, 'Practitioner') ?? refId(role?.practitioner, 'Practitioner');
    return id === null ? [] : [id];
  });
  const place = list(encounter.location)[0]?.location;
  return {
    id: encounter.id ?? '',
    ...timesOf(encounter.period?.start, timezone),
    visit_type: isTelephoneEncounter(encounter)
      ? telephone_visit
      : (codeOf(list(encounter.type)[0]) ?? text(encounter.class?.code) ?? ''),
    status: text(encounter.status),
    ...providerAndLocation(provider, place, participants),
    reason: labelOf(list(encounter.reasonCode)[0]),
    // FHIR has no lock flag. A finished visit counts as locked.
    locked: encounter.status === 'finished' ? 'true' : 'false',
    cancelled: encounter.status === 'cancelled',
  };
}

export function appointmentToEncounter(
  appointment: fhir.Appointment,
  participants: Participants,
  timezone: string,
): EmrEncounter {
  const [provider] = providersOf(appointment, participants);
  const named = list(appointment.participant).find(({ actor }) => refId(actor, 'Location') !== null)?.actor;
  const of_slot = participants.owners.get(appointment.id ?? '')?.facility_ehr_id;
  const place = named ?? (of_slot ? { reference: `Location/${of_slot}` } : undefined);
  return {
    id: appointment.id ?? '',
    ...timesOf(appointment.start, timezone),
    visit_type: visitTypeOf(appointment) ?? '',
    status: text(appointment.status),
    ...providerAndLocation(provider, place, participants),
    reason: labelOf(list(appointment.reasonCode)[0]) ?? text(appointment.description),
    locked: 'false',
    cancelled: isTimeFree(appointment),
  };
}

function timesOf(moment: string | undefined, timezone: string) {
  return { date: dayOf(moment, timezone), start_time: wallTime(moment, timezone)?.slice(11, 16) ?? null };
}

function providerAndLocation(
  provider_id: string | undefined,
  place: fhir.Reference | undefined,
  participants: Participants,
) {
  const name = nameOf(participants.practitioners.get(provider_id ?? '')?.name);
  const facility_id = refId(place, 'Location');
  return {
    provider_ehr_id: provider_id ?? null,
    provider_first_name: name.first,
    provider_last_name: name.last,
    facility_name: text(participants.locations.get(facility_id ?? '')?.name) ?? text(place?.display),
    facility_id,
  };
}

/** Flags and allergies. FHIR has no billing alerts. */
export async function getAlerts(emr: Emr, patient_ehr_id: string): Promise<LiveAlerts> {
  const { client, timezone } = emr;
  const params = { patient: `Patient/${patient_ehr_id}` };
  const found = await client.searchAll<fhir.Flag>('Flag', params);
  const flags = onlyOf(patient_ehr_id, found, ({ subject }) => [subject]);
  const found_allergies = canSearch(client, 'AllergyIntolerance', ['patient'])
    ? await client.searchAll<fhir.AllergyIntolerance>('AllergyIntolerance', params)
    : [];
  const allergies = onlyOf(patient_ehr_id, found_allergies, ({ patient }) => [patient]);
  const today = todayIn(timezone);
  const active = flags.filter(({ status, period }) => {
    const ends = dayOf(period?.end, timezone);
    return (status ?? 'active') === 'active' && (ends === null || ends >= today);
  });
  const global_alerts = [
    ...active.map((flag) => flagToAlert(flag, timezone)),
    ...allergies.filter(isRelevant).map(allergyToAlert),
  ];
  return { billing_alert: false, billing_notes: null, global_alerts };
}

type Alert = LiveAlerts['global_alerts'][number];

export function flagToAlert(flag: fhir.Flag, timezone: string): Alert {
  return {
    name: labelOf(flag.code) ?? '',
    alert_type: labelOf(list(flag.category)[0]),
    notes: null,
    priority: null,
    expiry_date: dayOf(flag.period?.end, timezone),
  };
}

export function allergyToAlert(allergy: fhir.AllergyIntolerance): Alert {
  const reactions = list(allergy.reaction)
    .flatMap(({ manifestation }) => list(manifestation).map(labelOf))
    .filter((label) => label !== null);
  const notes = [reactions.join(', '), notesOf(allergy.note) ?? ''].filter((note) => note !== '');
  return {
    name: labelOf(allergy.code) ?? '',
    alert_type: 'allergy',
    notes: text(notes.join('\n')),
    priority: text(allergy.criticality),
    expiry_date: null,
  };
}

/** Excludes allergies that are inactive, resolved, refuted or entered in error. */
function isRelevant({ clinicalStatus, verificationStatus }: fhir.AllergyIntolerance): boolean {
  const systems = 'http://terminology.hl7.org/CodeSystem';
  return (
    !hasCode(clinicalStatus, `${systems}/allergyintolerance-clinical`, ['INACTIVE', 'RESOLVED']) &&
    !hasCode(verificationStatus, `${systems}/allergyintolerance-verification`, ['REFUTED', 'ENTERED-IN-ERROR'])
  );
}
