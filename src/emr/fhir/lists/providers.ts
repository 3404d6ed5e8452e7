import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import type { ProviderSource } from '../../../model/records/providers.ts';
import type { ReferringProviderSource } from '../../../model/records/referringProviders.ts';
import type { StaffMemberSource } from '../../../model/records/staff.ts';
import type { Listing } from '../../connector.ts';
import { collect } from '../../operations.ts';
import { isSamePerson } from '../../patientWrites.ts';
import { nameForms } from '../charts/searchPatients.ts';
import { canSearch, createResolver, type Emr, refIds } from '../references.ts';
import type { FhirClient } from '../transport/client.ts';
import {
  addressParts,
  contactValue,
  currentAddress,
  groupBy,
  labelOf,
  list,
  nameOf,
  npiOf,
  toStatus,
} from '../values.ts';
import { toHours } from './hours.ts';
import { type List, shortList } from './readList.ts';
import {
  availabilityWindow,
  loadRoles,
  loadScheduleOwners,
  readSlots,
  role_types,
  type SlotPart,
  slot_types,
} from './slots.ts';

/**
 * FHIR does not separate providers, staff and referring providers. All three lists contain every practitioner;
 * availability offers only those with hours or slots.
 */
export const providers: List<fhir.Practitioner, ProviderSource> = { type: 'Practitioner', toSources: providersOf };

export function listPractitioners<Source>(emr: Emr, practitioners: List<fhir.Practitioner, Source>): Listing<Source> {
  // Only providers have hours, which are made of schedules and slots.
  const with_hours = (practitioners as unknown) === providers;
  const types = [...role_types, ...(with_hours ? slot_types : [])];
  return shortList(emr, practitioners, types, (since) => changedPractitioners(emr, since, with_hours));
}

async function changedPractitioners(
  emr: Emr,
  since: string,
  with_hours: boolean,
): Promise<ReadonlySet<string> | undefined> {
  const { client, changes } = emr;
  const changed = async <T extends fhir.FhirResource>(type: T['resourceType']) =>
    canSearch(client, type) ? changes.since<T>(type, since) : [];
  const people = await changed<fhir.Practitioner>('Practitioner');
  const roles = await changed<fhir.PractitionerRole>('PractitionerRole');
  const schedules = with_hours ? await changed<fhir.Schedule>('Schedule') : [];
  const slots = with_hours ? await changed<fhir.Slot>('Slot') : [];
  if (!people || !roles || !schedules || !slots) return undefined;
  const resolver = createResolver(client);
  const slot_refs = slots.map(({ schedule }) => schedule);
  const touched = await resolver.load<fhir.Schedule>('Schedule', refIds(slot_refs, 'Schedule'));
  const actors = [...schedules, ...touched.values()].flatMap(({ actor }) => list(actor));
  const actor_roles = await resolver.load<fhir.PractitionerRole>(
    'PractitionerRole',
    refIds(actors, 'PractitionerRole'),
  );
  const owners = [...roles, ...actor_roles.values()].map(({ practitioner }) => practitioner);
  return new Set([...people.map(({ id }) => id ?? ''), ...refIds([...owners, ...actors], 'Practitioner')]);
}

export const staff: List<fhir.Practitioner, StaffMemberSource> = {
  type: 'Practitioner',
  toSources: async (page, { client }) => {
    const roles = await loadRoles(client, page);
    return page.map((each) => toStaffMember(each, roles.get(each.id ?? '') ?? []));
  },
};

export const referringProviders: List<fhir.Practitioner, ReferringProviderSource> = {
  type: 'Practitioner',
  toSources: async (page, { client }) => {
    const roles = await loadRoles(client, page);
    return page.map((each) => toReferringProvider(each, roles.get(each.id ?? '') ?? []));
  },
};

export async function findReferringProviders(
  emr: Emr,
  name: { first_name: string; last_name: string },
): Promise<ReferringProviderSource[]> {
  return referringProviders.toSources(await practitionersNamed(emr.client, name), emr, createResolver(emr.client));
}

/** The practitioners with exactly this name. The server must search them by family name. */
export async function practitionersNamed(
  client: FhirClient,
  sent: { first_name: string; last_name: string },
): Promise<fhir.Practitioner[]> {
  if (fold(sent.last_name) === '') return [];
  const found = await client.searchAll<fhir.Practitioner>('Practitioner', { family: nameForms(sent.last_name) });
  return found.filter(({ name }) => {
    const { first: first_name, last: last_name } = nameOf(name);
    return isSamePerson(sent, { first_name, last_name });
  });
}

export function toStaffMember(practitioner: fhir.Practitioner, roles: fhir.PractitionerRole[]): StaffMemberSource {
  return {
    ehr_id: practitioner.id ?? '',
    name: nameOf(practitioner.name).full ?? '',
    role: roles.map(({ code }) => labelOf(list(code)[0])).find((label) => label !== null) ?? null,
    status: toStatus(practitioner.active),
  };
}

export function toReferringProvider(
  practitioner: fhir.Practitioner,
  roles: fhir.PractitionerRole[],
): ReferringProviderSource {
  const name = nameOf(practitioner.name);
  const address = addressParts(currentAddress(practitioner.address));
  const telecom = [...list(practitioner.telecom), ...roles.flatMap((role) => list(role.telecom))];
  return {
    ehr_id: practitioner.id ?? '',
    name: name.full ?? '',
    first_name: name.first ?? '',
    last_name: name.last ?? (name.first === null ? name.full : null) ?? '',
    middle_initial: name.middle?.slice(0, 1) ?? null,
    speciality: roles.map(({ specialty }) => labelOf(list(specialty)[0])).find((label) => label !== null) ?? null,
    phone: contactValue(telecom, 'phone'),
    fax: contactValue(telecom, 'fax'),
    email: contactValue(telecom, 'email'),
    npi: npiOf(practitioner.identifier),
    address_street: address.line1,
    address_city: address.city,
    address_state: address.state,
    address_zip: address.zip,
    status: toStatus(practitioner.active),
  };
}

/** Reads the slots of a few practitioners at a time, so that those of a large practice need not fit in memory. */
async function providersOf(page: fhir.Practitioner[], emr: Emr): Promise<ProviderSource[]> {
  const sources: ProviderSource[] = [];
  for (let n = 0; n < page.length; n += batch_size) {
    const batch = page.slice(n, n + batch_size);
    const roles = await loadRoles(emr.client, batch);
    const owners = await loadScheduleOwners(
      emr,
      batch.map(({ id }) => id ?? ''),
      [...roles.values()].flat(),
    );
    const slots = groupBy(
      await collect(readSlots(emr, owners, availabilityWindow(emr.timezone))),
      ({ provider_ehr_id }) => provider_ehr_id,
    );
    for (const each of batch) {
      const id = each.id ?? '';
      sources.push(toProvider(each, roles.get(id) ?? [], slots.get(id) ?? [], emr.timezone));
    }
  }
  return sources;
}

const batch_size = 10;

export function toProvider(
  practitioner: fhir.Practitioner,
  roles: fhir.PractitionerRole[],
  slots: SlotPart[],
  timezone: string,
): ProviderSource {
  return {
    ehr_id: practitioner.id ?? '',
    name: nameOf(practitioner.name).full ?? '',
    npi: npiOf(practitioner.identifier),
    timezone,
    status: toStatus(practitioner.active),
    hours: toHours(roles, slots, timezone),
  };
}
