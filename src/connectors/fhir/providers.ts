import type * as fhir from 'fhir/r4.js';
import type { ProviderSource } from '../../model/records/providers.ts';
import type { ReferringProviderSource } from '../../model/records/referringProviders.ts';
import type { StaffMemberSource } from '../../model/records/staff.ts';
import { hoursOf } from './hours.ts';
import { gather, type List } from './lists.ts';
import type { Emr } from './references.ts';
import { rolesOf } from './roles.ts';
import { diariesOf, type Stretch, stretchesOf, windowOf } from './slots.ts';
import { activity, addressOf, addressParts, contactOf, grouped, list, nameOf, npiOf, wordsOf } from './values.ts';

/**
 * FHIR knows practitioners, and no line between those who see patients, those who work beside them and those who refer
 * to them. So each of the three lists has all of them; only who has hours or slots is ever offered by availability.
 */
export const providers: List<fhir.Practitioner, ProviderSource> = { type: 'Practitioner', sources: providersOf };

export const staff: List<fhir.Practitioner, StaffMemberSource> = {
  type: 'Practitioner',
  sources: async (page, { client }) => {
    const roles = await rolesOf(client, page);
    return page.map((each) => staffMemberOf(each, roles.get(each.id ?? '') ?? []));
  },
};

export const referringProviders: List<fhir.Practitioner, ReferringProviderSource> = {
  type: 'Practitioner',
  sources: async (page, { client }) => {
    const roles = await rolesOf(client, page);
    return page.map((each) => referringProviderOf(each, roles.get(each.id ?? '') ?? []));
  },
};

export function staffMemberOf(practitioner: fhir.Practitioner, roles: fhir.PractitionerRole[]): StaffMemberSource {
  return {
    ehr_id: practitioner.id ?? '',
    name: nameOf(practitioner.name).full ?? '',
    role: roles.map(({ code }) => wordsOf(list(code)[0])).find((words) => words !== null) ?? null,
    status: activity(practitioner.active),
  };
}

export function referringProviderOf(
  practitioner: fhir.Practitioner,
  roles: fhir.PractitionerRole[],
): ReferringProviderSource {
  const name = nameOf(practitioner.name);
  const address = addressParts(addressOf(practitioner.address));
  const telecom = [...list(practitioner.telecom), ...roles.flatMap((role) => list(role.telecom))];
  return {
    ehr_id: practitioner.id ?? '',
    name: name.full ?? '',
    first_name: name.first ?? '',
    last_name: name.last ?? (name.first === null ? name.full : null) ?? '',
    middle_initial: name.middle?.slice(0, 1) ?? null,
    speciality: roles.map(({ specialty }) => wordsOf(list(specialty)[0])).find((words) => words !== null) ?? null,
    phone: contactOf(telecom, 'phone'),
    fax: contactOf(telecom, 'fax'),
    email: contactOf(telecom, 'email'),
    npi: npiOf(practitioner.identifier),
    address_street: address.line1,
    address_city: address.city,
    address_state: address.state,
    address_zip: address.zip,
  };
}

/** A page of people with their hours: the slots of a few at a time, so that those of a large practice need not fit. */
async function providersOf(page: fhir.Practitioner[], emr: Emr): Promise<ProviderSource[]> {
  const sources: ProviderSource[] = [];
  for (let n = 0; n < page.length; n += at_once) {
    const few = page.slice(n, n + at_once);
    const roles = await rolesOf(emr.client, few);
    const diaries = await diariesOf(
      emr,
      few.map(({ id }) => id ?? ''),
      [...roles.values()].flat(),
    );
    const slots = grouped(
      await gather(stretchesOf(emr, diaries, windowOf(emr.timezone))),
      ({ provider_ehr_id }) => provider_ehr_id,
    );
    for (const each of few) {
      const id = each.id ?? '';
      sources.push(providerOf(each, roles.get(id) ?? [], slots.get(id) ?? [], emr.timezone));
    }
  }
  return sources;
}

const at_once = 10;

export function providerOf(
  practitioner: fhir.Practitioner,
  roles: fhir.PractitionerRole[],
  slots: Stretch[],
  timezone: string,
): ProviderSource {
  return {
    ehr_id: practitioner.id ?? '',
    name: nameOf(practitioner.name).full ?? '',
    npi: npiOf(practitioner.identifier),
    timezone,
    status: activity(practitioner.active),
    hours: hoursOf(roles, slots, timezone),
  };
}
