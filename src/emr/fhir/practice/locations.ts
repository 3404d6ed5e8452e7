import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import type { LocationSource } from '../../../model/records/locations.ts';
import type { Grant } from '../../connector.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { type List, plainList } from '../lists.ts';
import type { FhirOperation } from '../operation.ts';
import { phoneFormats } from '../patients/patients.ts';
import { canSearch, type Emr, findReferencing, readActors, refIds } from '../references.ts';
import { listsOrExports, type ServerFacts } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { type SearchParams, searchValue } from '../transport/search.ts';
import {
  addressParts,
  code_systems,
  contactValue,
  first,
  hasCode,
  list,
  text,
  toPhoneDigits,
  toStatus,
} from '../values.ts';
import { isInsurer, isPharmacy, isPharmacyLocation } from './organizations.ts';

/**
 * Locations where patients are seen, without location kinds, pharmacies and people's homes. Some servers list the home
 * addresses of patients and users as locations too, so a location counts only if something shows that it is the
 * practice's.
 */
export function locations({ client }: Emr): List<fhir.Location, LocationSource> {
  let organizations: Promise<fhir.Organization[]> | undefined;
  return {
    type: 'Location',
    toSources: async (page) => {
      const places = page.filter((each) => each.mode !== 'kind' && !isPharmacyLocation(each) && !isHome(each));
      if (canFindUses(client)) {
        await recordHidden(client, false);
        return (await keepUsedOrOwned(client, places)).map(toLocation);
      }
      organizations ??= loadOrganizations(client);
      const recognized = await recognizePlaces(client, places, await organizations);
      if (recognized.length < places.length) await recordHidden(client, true);
      return recognized.map(toLocation);
    },
  };
}

export function toLocation(location: fhir.Location): LocationSource {
  const { line1, line2, ...address } = addressParts(location.address);
  return {
    ehr_id: location.id ?? '',
    name: text(location.name) ?? first(list(location.alias), text) ?? text(location.description) ?? '',
    status: toStatus((location.status ?? 'active') === 'active'),
    address: { address1: line1, address2: line2, ...address },
    phone: contactValue(location.telecom, 'phone'),
    fax: contactValue(location.telecom, 'fax'),
  };
}

/** What people should know about the server, for the connection report. Without health data. */
export function serverFindings({ server }: Grant): string[] {
  if (server === undefined) return [];
  // Written by signIn from a value of this type.
  const { hidden_locations }: ServerFacts = JSON.parse(server);
  return hidden_locations ? [hidden_locations_finding] : [];
}

const hidden_locations_finding =
  'Locations: the server does not show where patients are seen. Locations that name no organization and no type, and ' +
  'do not match an organization of the practice by name or address, are not listed, because they may be homes of patients.';

function isHome({ type, physicalType }: fhir.Location): boolean {
  return (
    list(type).some((each) => hasCode(each, code_systems.role, ['PTRES'])) ||
    hasCode(physicalType, physical_types, ['HO'])
  );
}

const physical_types = 'http://terminology.hl7.org/CodeSystem/location-physical-type';

/** A location of the practice has an organization or a kind of service. */
function isOwned({ managingOrganization, type }: fhir.Location): boolean {
  return managingOrganization !== undefined || list(type).length > 0;
}

type Referrer = fhir.PractitionerRole | fhir.Schedule | fhir.Appointment;

const referrers = [
  ['PractitionerRole', 'location'],
  ['Schedule', 'actor'],
  ['Appointment', 'location'],
] as const;

/** Whether the server can be searched for what takes place at a location. */
function canFindUses(client: FhirClient): boolean {
  return referrers.some(([type, param]) => canSearch(client, type, [param]));
}

/** The locations that belong to the practice, or that roles, schedules or appointments refer to. */
async function keepUsedOrOwned(client: FhirClient, places: readonly fhir.Location[]): Promise<fhir.Location[]> {
  const ids = places.filter((each) => !isOwned(each)).map(({ id }) => id ?? '');
  const used = new Set<string>();
  for (const [type, param] of referrers) {
    const references = ids.filter((id) => !used.has(id)).map((id) => `Location/${id}`);
    for (const referrer of await findReferencing<Referrer>(client, type, [param], references)) {
      for (const id of refIds(readLocations(referrer), 'Location')) used.add(id);
    }
  }
  return places.filter((each) => isOwned(each) || used.has(each.id ?? ''));
}

function readLocations(referrer: Referrer): (fhir.Reference | undefined)[] {
  if (referrer.resourceType === 'PractitionerRole') return list(referrer.location);
  if (referrer.resourceType === 'Schedule') return list(referrer.actor);
  return readActors(referrer);
}

/**
 * On other servers: the locations that belong to the practice, or that have the name or the address of one of its
 * organizations, unless they have a patient's address or phone number.
 */
async function recognizePlaces(
  client: FhirClient,
  places: readonly fhir.Location[],
  organizations: readonly fhir.Organization[],
): Promise<fhir.Location[]> {
  const practice = {
    names: new Set(organizations.flatMap(({ name, alias }) => foldNames([name, ...list(alias)]))),
    addresses: new Set(organizations.flatMap(({ address }) => list(address).flatMap(addressKeys))),
    phones: new Set(organizations.flatMap(({ telecom }) => readPhones(telecom))),
  };
  const recognized: fhir.Location[] = [];
  for (const place of places) {
    const named = foldNames([place.name, ...list(place.alias)]).some((each) => practice.names.has(each));
    const located = addressKeys(place.address).some((each) => practice.addresses.has(each));
    if (!isOwned(place) && !named && !located) continue;
    // What an organization publishes is not private, even if a patient gave it as their own.
    const address = located ? undefined : place.address;
    const phones = readPhones(place.telecom).filter((each) => !practice.phones.has(each));
    if (!(await isPatientContact(client, address, phones))) recognized.push(place);
  }
  return recognized;
}

/** The organizations that see patients, as far as the server lists them. */
async function loadOrganizations(client: FhirClient): Promise<fhir.Organization[]> {
  if (!canSearch(client, 'Organization') || !client.capabilities.listsAll('Organization')) return [];
  const all: fhir.Organization[] = [];
  for await (const { matches } of client.search<fhir.Organization>('Organization', {})) all.push(...matches);
  return all.filter((each) => !isInsurer(each) && !isPharmacy(each));
}

/** Whether a patient has this address, or one of these phone numbers, as far as the server can be searched for it. */
async function isPatientContact(
  client: FhirClient,
  address: fhir.Address | undefined,
  phones: readonly string[],
): Promise<boolean> {
  const keys = addressKeys(address);
  const { line1 } = addressParts(address);
  const by_phone = ['phone', 'telecom'].find((name) => canSearch(client, 'Patient', [name]));
  const searches: SearchParams[] = [
    ...(keys.length > 0 && line1 !== null && canSearch(client, 'Patient', ['address'])
      ? [{ address: searchValue(line1) }]
      : []),
    ...(by_phone ? phones.map((phone) => ({ [by_phone]: phoneFormats(phone).map(searchValue).join(',') })) : []),
  ];
  for (const params of searches) {
    const patients = await searchPatientsIfAllowed(client, params);
    const shared = patients.some(
      (patient) =>
        list(patient.address)
          .flatMap(addressKeys)
          .some((each) => keys.includes(each)) || readPhones(patient.telecom).some((each) => phones.includes(each)),
    );
    if (shared) return true;
  }
  return false;
}

/** None if the server refuses the search. */
async function searchPatientsIfAllowed(client: FhirClient, params: SearchParams): Promise<fhir.Patient[]> {
  try {
    return await client.searchAll<fhir.Patient>('Patient', params);
  } catch (error) {
    if (error instanceof EmrFailure && error.kind === 'refused') return [];
    throw error;
  }
}

function foldNames(names: readonly (string | undefined)[]): string[] {
  return names.map((name) => fold(text(name) ?? '')).filter((name) => name !== '');
}

/** The street with the ZIP code or, without one, the city. None if one of them is missing. */
function addressKeys(address: fhir.Address | undefined): string[] {
  const { line1, city, zip } = addressParts(address);
  const place = zip?.slice(0, 5) ?? city;
  return line1 === null || place === null ? [] : [`${fold(line1)} ${fold(place)}`];
}

function readPhones(telecom: fhir.ContactPoint[] | undefined): string[] {
  const numbers = list(telecom).filter(({ system }) => system === 'phone' || system === 'sms');
  return numbers.map(({ value }) => toPhoneDigits(value ?? '')).filter((digits) => digits.length === 10);
}

/** Shown in the connection report. */
async function recordHidden(client: FhirClient, hidden: boolean): Promise<void> {
  if (client.capabilities.hides_locations === hidden) return;
  await client.learn((facts) => {
    if (hidden) facts.hidden_locations = true;
    else delete facts.hidden_locations;
  });
}

export const location_operations: readonly FhirOperation[] = [
  { operation: 'listLocations', requires: [listsOrExports('Location')], open: (emr) => plainList(emr, locations(emr)) },
];
