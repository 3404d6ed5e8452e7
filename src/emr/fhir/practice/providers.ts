import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import type { ProviderSource } from '../../../model/records/providers.ts';
import type { ReferringProviderSource } from '../../../model/records/referringProviders.ts';
import type { StaffMemberSource } from '../../../model/records/staff.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { isSamePerson } from '../../operations/insurance.ts';
import { collect, type Listing } from '../../operations/operation.ts';
import type { Operations } from '../../operations/operations.ts';
import type { NewReferringProvider } from '../../operations/practice.ts';
import { toHours } from '../appointments/hours.ts';
import {
  availabilityWindow,
  loadRoles,
  loadSchedules,
  readSlots,
  role_types,
  type SlotPart,
  slot_types,
} from '../appointments/slots.ts';
import { readList } from '../listReads.ts';
import { type List, shortList } from '../lists.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { nameForms } from '../patients/patients.ts';
import { canSearch, createResolver, type Emr, loadReferredRoles, refIds } from '../references.ts';
import { lists, listsOrExports, type Requirement, searches, stores } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import {
  addressParts,
  code_systems,
  contactValue,
  currentAddress,
  first,
  groupBy,
  list,
  readLabel,
  readLastName,
  readName,
  readNpi,
  toStatus,
} from '../values.ts';
import { findMarked, requireId } from '../writeSteps.ts';

/**
 * FHIR does not separate providers, staff and referring providers. All three lists contain every practitioner;
 * availability offers only those with hours or slots.
 */
export const providers: List<fhir.Practitioner, ProviderSource> = { type: 'Practitioner', toSources: toProviders };

export const staff: List<fhir.Practitioner, StaffMemberSource> = {
  type: 'Practitioner',
  toSources: async (page, { client }) => {
    const roles = await loadRoles(client, page.map(readId));
    return page.map((each) => toStaffMember(each, roles.get(readId(each)) ?? []));
  },
};

export const referringProviders: List<fhir.Practitioner, ReferringProviderSource> = {
  type: 'Practitioner',
  toSources: async (page, { client }) => {
    const roles = await loadRoles(client, page.map(readId));
    return page.map((each) => toReferringProvider(each, roles.get(readId(each)) ?? []));
  },
};

export function listPractitioners<Source>(emr: Emr, practitioners: List<fhir.Practitioner, Source>): Listing<Source> {
  // Only providers have hours, which are made of schedules and slots.
  const with_hours = (practitioners as unknown) === providers;
  const types = [...role_types, ...(with_hours ? slot_types : [])];
  return shortList(emr, practitioners, types, (since) => findChanged(emr, since, with_hours));
}

/** The ids of the practitioners whose records have changed, or something that these are made of. */
async function findChanged(
  { client, changes }: Emr,
  since: string,
  with_hours: boolean,
): Promise<ReadonlySet<string> | undefined> {
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
  const actor_roles = await loadReferredRoles(resolver, actors);
  const owners = [...roles, ...actor_roles.values()].map(({ practitioner }) => practitioner);
  return new Set([...people.map(readId), ...refIds([...owners, ...actors], 'Practitioner')]);
}

export async function findReferringProviders(
  emr: Emr,
  name: { first_name: string; last_name: string },
): Promise<ReferringProviderSource[]> {
  return referringProviders.toSources(await findPractitioners(emr.client, name), emr, createResolver(emr.client));
}

/** The practitioners with exactly this name. The server must search them by name, or list them. */
export async function findPractitioners(
  client: FhirClient,
  person: { first_name: string; last_name: string },
): Promise<fhir.Practitioner[]> {
  if (fold(person.last_name) === '') return [];
  const param = ['family', 'name'].find((name) => canSearch(client, 'Practitioner', [name]));
  const matches = param
    ? await client.searchAll<fhir.Practitioner>('Practitioner', { [param]: nameForms(person.last_name) })
    : await listEveryone(client);
  return matches.filter(({ name }) => {
    const { first: first_name, last: last_name } = readName(name);
    return isSamePerson(person, { first_name, last_name });
  });
}

async function listEveryone(client: FhirClient): Promise<fhir.Practitioner[]> {
  const everyone: fhir.Practitioner[] = [];
  // Practitioners are not read by days, so the time zone does not matter.
  for await (const { matches } of readList<fhir.Practitioner>({ client, timezone: 'UTC' }, 'Practitioner')) {
    everyone.push(...matches);
  }
  return everyone;
}

export function toStaffMember(practitioner: fhir.Practitioner, roles: fhir.PractitionerRole[]): StaffMemberSource {
  return {
    ehr_id: practitioner.id ?? '',
    name: readName(practitioner.name).full ?? '',
    role: first(roles, ({ code }) => readLabel(list(code)[0])),
    status: toStatus(practitioner.active),
  };
}

export function toReferringProvider(
  practitioner: fhir.Practitioner,
  roles: fhir.PractitionerRole[],
): ReferringProviderSource {
  const name = readName(practitioner.name);
  const address = addressParts(currentAddress(practitioner.address));
  const telecom = [...list(practitioner.telecom), ...roles.flatMap((role) => list(role.telecom))];
  return {
    ehr_id: practitioner.id ?? '',
    name: name.full ?? '',
    first_name: name.first ?? '',
    last_name: readLastName(name),
    middle_initial: name.middle?.slice(0, 1) ?? null,
    speciality: first(roles, ({ specialty }) => readLabel(list(specialty)[0])),
    phone: contactValue(telecom, 'phone'),
    fax: contactValue(telecom, 'fax'),
    email: contactValue(telecom, 'email'),
    npi: readNpi(practitioner.identifier),
    address_street: address.line1,
    address_city: address.city,
    address_state: address.state,
    address_zip: address.zip,
    status: toStatus(practitioner.active),
  };
}

/** Reads the slots of a few practitioners at a time, so that those of a large practice need not fit in memory. */
async function toProviders(page: fhir.Practitioner[], emr: Emr): Promise<ProviderSource[]> {
  const sources: ProviderSource[] = [];
  for (let n = 0; n < page.length; n += batch_size) {
    const batch = page.slice(n, n + batch_size);
    const { roles, owners } = await loadSchedules(emr, batch.map(readId));
    const slots = groupBy(
      await collect(readSlots(emr, owners, availabilityWindow(emr.timezone))),
      ({ provider_ehr_id }) => provider_ehr_id,
    );
    for (const each of batch) {
      const id = readId(each);
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
    name: readName(practitioner.name).full ?? '',
    npi: readNpi(practitioner.identifier),
    timezone,
    status: toStatus(practitioner.active),
    hours: toHours(roles, slots, timezone),
  };
}

function createReferringProvider({ client }: Emr): Operations['createReferringProvider'] {
  return {
    send: async (input, marker) => {
      const present = await findMarked<fhir.Practitioner>(client, 'Practitioner', marker);
      if (present) return { ehr_id: requireId(present) };
      await rejectKnownNpi(client, input.npi);
      return { ehr_id: requireId(await client.create(toPractitioner(input), marker)) };
    },
    ...(client.canFind('Practitioner') && {
      find: async (marker) => {
        const created = await client.findCreated<fhir.Practitioner>('Practitioner', marker);
        return created && { ehr_id: requireId(created) };
      },
    }),
  };
}

/** FHIR servers store several practitioners with one NPI. */
async function rejectKnownNpi(client: FhirClient, npi: string): Promise<void> {
  if (!canSearch(client, 'Practitioner', ['identifier'])) return;
  const identifier = `${code_systems.us_npi}|${npi}`;
  const matches = await client.searchAll<fhir.Practitioner>('Practitioner', { identifier });
  // A server may ignore the parameter and return everybody.
  const known = matches.some((each) => each.active !== false && readNpi(each.identifier) === npi);
  if (!known) return;
  throw new EmrFailure('refused', `A practitioner with NPI ${npi} already exists.`, { code: 'duplicate_record' });
}

function toPractitioner(input: NewReferringProvider): fhir.Practitioner {
  const telecom = (['phone', 'fax', 'email'] as const).flatMap((system): fhir.ContactPoint[] => {
    const value = input[system];
    return value === null ? [] : [{ system, value, use: 'work' }];
  });
  const { address_street, address_city, address_state, address_zip } = input;
  const address: fhir.Address = {
    use: 'work',
    ...(address_street !== null && { line: [address_street] }),
    ...(address_city !== null && { city: address_city }),
    ...(address_state !== null && { state: address_state }),
    ...(address_zip !== null && { postalCode: address_zip }),
  };
  return {
    resourceType: 'Practitioner',
    active: true,
    identifier: [{ system: code_systems.us_npi, value: input.npi }],
    name: [{ use: 'official', family: input.last_name, given: [input.first_name] }],
    ...(telecom.length > 0 && { telecom }),
    ...(Object.keys(address).length > 1 && { address: [address] }),
  };
}

function readId({ id }: fhir.Practitioner): string {
  return id ?? '';
}

/** What finding a doctor by name needs. */
export const named_doctor: readonly Requirement[] = [
  { ...searches('Practitioner', 'family|name'), or: lists('Practitioner') },
];

export const provider_operations: readonly FhirOperation[] = [
  {
    operation: 'listProviders',
    requires: [listsOrExports('Practitioner')],
    open: (emr) => listPractitioners(emr, providers),
  },
  { operation: 'listStaff', requires: [listsOrExports('Practitioner')], open: (emr) => listPractitioners(emr, staff) },
  {
    operation: 'listReferringProviders',
    requires: [listsOrExports('Practitioner')],
    open: (emr) => listPractitioners(emr, referringProviders),
  },
  { operation: 'findReferringProviders', requires: named_doctor, open: reading(findReferringProviders) },
  { operation: 'createReferringProvider', requires: [stores('Practitioner')], open: createReferringProvider },
];
