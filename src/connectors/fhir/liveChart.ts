import type * as fhir from 'fhir/r4.js';
import type { LiveAlerts, LiveEncounter } from '../../model/liveChart.ts';
import { todayIn } from '../../time/zones.ts';
import type { EmrMedication } from '../connector.ts';
import { providersOf, visitTypeOf } from './appointments.ts';
import { dayOf, wallTime } from './clock.ts';
import { canSearch, containedIn, type Emr, idIn, idsIn, type Resolver, resolverOf } from './references.ts';
import { codeOf, isCoded, list, nameOf, notesOf, number, text, wordsOf } from './values.ts';

/** What was prescribed: not what was only proposed, what must not be taken, or what was entered in error. */
export async function listMedications({ client, timezone }: Emr, patient_ehr_id: string): Promise<EmrMedication[]> {
  const asked = { patient: `Patient/${patient_ehr_id}` };
  const found = await client.searchAll<fhir.MedicationRequest>('MedicationRequest', asked);
  const meant = found.filter(
    ({ status, intent, doNotPerform }) =>
      status !== 'entered-in-error' && doNotPerform !== true && intent !== 'proposal' && intent !== 'option',
  );
  const references = meant.map(({ medicationReference }) => medicationReference);
  const known = await resolverOf(client).load<fhir.Medication>('Medication', idsIn(references, 'Medication'));
  return meant.map((each) => medicationOf(each, known, timezone));
}

export function medicationOf(
  request: fhir.MedicationRequest,
  known: ReadonlyMap<string, fhir.Medication>,
  timezone: string,
): EmrMedication {
  const { medicationReference: reference, dispenseRequest } = request;
  const held = containedIn<fhir.Medication>(request, reference, 'Medication');
  const medication = held ?? known.get(idIn(reference, 'Medication') ?? '');
  const [dosage] = list(request.dosageInstruction);
  const repeats = number(dispenseRequest?.numberOfRepeatsAllowed);
  return {
    ehr_id: request.id ?? '',
    name: wordsOf(request.medicationCodeableConcept) ?? wordsOf(medication?.code) ?? text(reference?.display) ?? '',
    strength: strengthOf(medication),
    frequency: text(dosage?.text) ?? wordsOf(dosage?.timing?.code),
    start_date: dayOf(request.authoredOn, timezone),
    refills: repeats === null ? null : String(repeats),
    notes: notesOf(request.note),
    active: request.status === 'active',
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

/** Visits, and the appointments that have not become one. */
export async function listEncounters(emr: Emr, patient_ehr_id: string): Promise<LiveEncounter[]> {
  const { client, timezone } = emr;
  const asked = { patient: `Patient/${patient_ehr_id}` };
  const visits = await client.searchAll<fhir.Encounter>('Encounter', asked);
  const booked = canSearch(client, 'Appointment', ['patient'])
    ? await client.searchAll<fhir.Appointment>('Appointment', asked)
    : [];
  const held = new Set(visits.flatMap(({ appointment }) => idsIn(list(appointment), 'Appointment')));
  const ahead = booked.filter(({ id, status }) => !held.has(id ?? '') && status !== 'entered-in-error');
  const people = await peopleOf(visits, ahead, resolverOf(client));
  return [
    ...visits.filter(({ status }) => status !== 'entered-in-error').map((each) => encounterOf(each, people, timezone)),
    ...ahead.map((each) => bookedOf(each, people, timezone)),
  ];
}

/** Those who saw or will see the patient, and where. */
export type People = {
  practitioners: ReadonlyMap<string, fhir.Practitioner>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
  places: ReadonlyMap<string, fhir.Location>;
};

async function peopleOf(visits: fhir.Encounter[], booked: fhir.Appointment[], resolver: Resolver): Promise<People> {
  const actors = [
    ...visits.flatMap(({ participant }) => list(participant).map(({ individual }) => individual)),
    ...visits.flatMap(({ location }) => list(location).map((each) => each.location)),
    ...booked.flatMap(({ participant }) => list(participant).map(({ actor }) => actor)),
  ];
  const roles = await resolver.load<fhir.PractitionerRole>('PractitionerRole', idsIn(actors, 'PractitionerRole'));
  const named = [...actors, ...[...roles.values()].map(({ practitioner }) => practitioner)];
  return {
    roles,
    practitioners: await resolver.load<fhir.Practitioner>('Practitioner', idsIn(named, 'Practitioner')),
    places: await resolver.load<fhir.Location>('Location', idsIn(actors, 'Location')),
  };
}

export function encounterOf(encounter: fhir.Encounter, people: People, timezone: string): LiveEncounter {
  const [seen] = list(encounter.participant).flatMap(({ individual }) => {
    const role = people.roles.get(idIn(individual, 'PractitionerRole') ?? '');
    const id = idIn(individual, 'Practitioner') ?? idIn(role?.practitioner, 'Practitioner');
    return id === null ? [] : [id];
  });
  const place = list(encounter.location)[0]?.location;
  return {
    id: encounter.id ?? '',
    ...timesOf(encounter.period?.start, timezone),
    visit_type: codeOf(list(encounter.type)[0]) ?? text(encounter.class?.code) ?? '',
    status: text(encounter.status),
    ...whoAndWhere(seen, place, people),
    reason: wordsOf(list(encounter.reasonCode)[0]),
    // A visit that has ended is closed; FHIR has no other word for it.
    locked: encounter.status === 'finished' ? 'true' : 'false',
  };
}

export function bookedOf(appointment: fhir.Appointment, people: People, timezone: string): LiveEncounter {
  const [provider] = providersOf(appointment, people.roles);
  const place = list(appointment.participant).find(({ actor }) => idIn(actor, 'Location') !== null)?.actor;
  return {
    id: appointment.id ?? '',
    ...timesOf(appointment.start, timezone),
    visit_type: visitTypeOf(appointment) ?? '',
    status: text(appointment.status),
    ...whoAndWhere(provider, place, people),
    reason: wordsOf(list(appointment.reasonCode)[0]) ?? text(appointment.description),
    locked: 'false',
  };
}

function timesOf(moment: string | undefined, timezone: string) {
  return { date: dayOf(moment, timezone), start_time: wallTime(moment, timezone)?.slice(11, 16) ?? null };
}

function whoAndWhere(provider_id: string | undefined, place: fhir.Reference | undefined, people: People) {
  const name = nameOf(people.practitioners.get(provider_id ?? '')?.name);
  const facility_id = idIn(place, 'Location');
  return {
    provider_ehr_id: provider_id ?? null,
    provider_first_name: name.first,
    provider_last_name: name.last,
    facility_name: text(people.places.get(facility_id ?? '')?.name) ?? text(place?.display),
    facility_id,
  };
}

/** Warnings at a patient's chart, and allergies. FHIR has none that concern bills. */
export async function getAlerts(emr: Emr, patient_ehr_id: string): Promise<LiveAlerts> {
  const { client, timezone } = emr;
  const asked = { patient: `Patient/${patient_ehr_id}` };
  const flags = await client.searchAll<fhir.Flag>('Flag', asked);
  const allergies = canSearch(client, 'AllergyIntolerance', ['patient'])
    ? await client.searchAll<fhir.AllergyIntolerance>('AllergyIntolerance', asked)
    : [];
  const today = todayIn(timezone);
  const open = flags.filter(({ status, period }) => {
    const ends = dayOf(period?.end, timezone);
    return (status ?? 'active') === 'active' && (ends === null || ends >= today);
  });
  const global_alerts = [...open.map((flag) => flagOf(flag, timezone)), ...allergies.filter(isKnown).map(allergyOf)];
  return { billing_alert: false, billing_notes: null, global_alerts };
}

type Alert = LiveAlerts['global_alerts'][number];

export function flagOf(flag: fhir.Flag, timezone: string): Alert {
  return {
    name: wordsOf(flag.code) ?? '',
    alert_type: wordsOf(list(flag.category)[0]),
    notes: null,
    priority: null,
    expiry_date: dayOf(flag.period?.end, timezone),
  };
}

export function allergyOf(allergy: fhir.AllergyIntolerance): Alert {
  const shown = list(allergy.reaction)
    .flatMap(({ manifestation }) => list(manifestation).map(wordsOf))
    .filter((words) => words !== null);
  const notes = [shown.join(', '), notesOf(allergy.note) ?? ''].filter((words) => words !== '');
  return {
    name: wordsOf(allergy.code) ?? '',
    alert_type: 'allergy',
    notes: text(notes.join('\n')),
    priority: text(allergy.criticality),
    expiry_date: null,
  };
}

/** Neither overcome nor refuted nor a mistake. */
function isKnown({ clinicalStatus, verificationStatus }: fhir.AllergyIntolerance): boolean {
  const systems = 'http://terminology.hl7.org/CodeSystem';
  return (
    !isCoded(clinicalStatus, `${systems}/allergyintolerance-clinical`, ['INACTIVE', 'RESOLVED']) &&
    !isCoded(verificationStatus, `${systems}/allergyintolerance-verification`, ['REFUTED', 'ENTERED-IN-ERROR'])
  );
}
