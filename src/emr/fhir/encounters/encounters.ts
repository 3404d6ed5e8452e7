import type * as fhir from 'fhir/r4.js';
import type { EmrEncounter } from '../../operations/telephoneEncounters.ts';
import { isTimeFree, readProviders, readVisitType } from '../appointments/appointments.ts';
import { loadSlotOwners, type ScheduleOwner } from '../appointments/slots.ts';
import { type FhirOperation, reading } from '../operation.ts';
import {
  canSearch,
  createResolver,
  type Emr,
  loadPractitioners,
  type Practitioners,
  practitionerId,
  type Resolver,
  readActors,
  refId,
  refIds,
  searchChart,
} from '../references.ts';
import { searches } from '../transport/capabilities.ts';
import { first, list, readCode, readLabel, readName, text, toDay, toLocalTime } from '../values.ts';
import { isTelephoneEncounter, loadCalls, telephone_visit } from './telephoneEncounters.ts';

/** Visits, and appointments that have no visit yet. */
export async function listEncounters(emr: Emr, patient_ehr_id: string): Promise<EmrEncounter[]> {
  const { client, timezone } = emr;
  const visits = await searchChart<fhir.Encounter>(client, 'Encounter', patient_ehr_id, ({ subject }) => [subject]);
  const booked = canSearch(client, 'Appointment', ['patient'])
    ? await searchChart<fhir.Appointment>(client, 'Appointment', patient_ehr_id, readActors)
    : [];
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
type Participants = Practitioners & {
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
    ...booked.flatMap(readActors),
  ];
  return {
    owners,
    ...(await loadPractitioners(resolver, actors)),
    locations: await resolver.load<fhir.Location>('Location', refIds(actors, 'Location')),
  };
}

export function toEncounter(encounter: fhir.Encounter, participants: Participants, timezone: string): EmrEncounter {
  const provider = first(list(encounter.participant), ({ individual }) =>
    practitionerId(individual, participants.roles),
  );
  const place = list(encounter.location)[0]?.location;
  return {
    id: encounter.id ?? '',
    ...toTimes(encounter.period?.start, timezone),
    visit_type: isTelephoneEncounter(encounter)
      ? telephone_visit
      : (readCode(list(encounter.type)[0]) ?? text(encounter.class?.code) ?? ''),
    status: text(encounter.status),
    ...toProviderAndLocation(provider, place, participants),
    reason: readLabel(list(encounter.reasonCode)[0]),
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
  const [provider = null] = readProviders(appointment, participants);
  const named_place = readActors(appointment).find((actor) => refId(actor, 'Location') !== null);
  const slot_place = participants.owners.get(appointment.id ?? '')?.facility_ehr_id;
  const place = named_place ?? (slot_place ? { reference: `Location/${slot_place}` } : undefined);
  return {
    id: appointment.id ?? '',
    ...toTimes(appointment.start, timezone),
    visit_type: readVisitType(appointment) ?? '',
    status: text(appointment.status),
    ...toProviderAndLocation(provider, place, participants),
    reason: readLabel(list(appointment.reasonCode)[0]) ?? text(appointment.description),
    locked: 'false',
    cancelled: isTimeFree(appointment),
  };
}

function toTimes(moment: string | undefined, timezone: string) {
  return { date: toDay(moment, timezone), start_time: toLocalTime(moment, timezone)?.slice(11, 16) ?? null };
}

function toProviderAndLocation(
  provider_ehr_id: string | null,
  place: fhir.Reference | undefined,
  participants: Participants,
) {
  const name = readName(participants.practitioners.get(provider_ehr_id ?? '')?.name);
  const facility_id = refId(place, 'Location');
  return {
    provider_ehr_id,
    provider_first_name: name.first,
    provider_last_name: name.last,
    facility_name: text(participants.locations.get(facility_id ?? '')?.name) ?? text(place?.display),
    facility_id,
  };
}

export const encounter_operations: readonly FhirOperation[] = [
  { operation: 'listEncounters', requires: [searches('Encounter', 'patient')], open: reading(listEncounters) },
];
