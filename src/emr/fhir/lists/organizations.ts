import type * as fhir from 'fhir/r4.js';
import type { InsuranceProviderSource } from '../../../model/records/insuranceProviders.ts';
import type { LocationSource } from '../../../model/records/locations.ts';
import type { PharmacySource } from '../../../model/records/pharmacies.ts';
import type { Listing } from '../../connector.ts';
import { canSearch, type Emr } from '../references.ts';
import { marker_system } from '../transport/client.ts';
import {
  addressParts,
  contactValue,
  currentAddress,
  first,
  hasCode,
  identifierOf,
  list,
  text,
  toStatus,
} from '../values.ts';
import { anyChanged, type List, readAll, shortList, wholeList } from './readList.ts';

export const insuranceProviders: List<fhir.Organization, InsuranceProviderSource> = {
  type: 'Organization',
  toSources: async (page) => page.filter(isInsurer).map(toInsuranceProvider),
};

/** A list whose records are made of one type only. */
export function plainList<T extends fhir.FhirResource, Source>(emr: Emr, plain: List<T, Source>): Listing<Source> {
  return shortList(emr, plain, [plain.type], async (since) => {
    const found = await emr.changes.since<T>(plain.type, since);
    return found && new Set(found.map(({ id }) => id ?? ''));
  });
}

/** Pharmacies are stored as Organization or as Location, depending on the server. */
export function pharmacies(emr: Emr): Listing<PharmacySource> {
  const types = ['Organization', 'Location'] as const;
  return wholeList(
    emr,
    types,
    (since) => anyChanged(emr, types, since),
    () => listPharmacies(emr),
  );
}

async function* listPharmacies(emr: Emr): AsyncGenerator<PharmacySource[]> {
  const organizations: List<fhir.Organization, PharmacySource> = {
    type: 'Organization',
    toSources: async (page) => page.filter(isPharmacy).map(toPharmacy),
  };
  yield* readAll(emr, organizations);
  const places: List<fhir.Location, PharmacySource> = {
    type: 'Location',
    toSources: async (page) => page.filter(isPharmacyLocation).map(locationToPharmacy),
  };
  if (canSearch(emr.client, 'Location')) yield* readAll(emr, places);
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

export function toInsuranceProvider(organization: fhir.Organization): InsuranceProviderSource {
  const address = addressParts(currentAddress(organization.address));
  return {
    ehr_id: organization.id ?? '',
    name: nameOf(organization),
    payer_id: payerIdOf(organization),
    active: organization.active !== false,
    address: address.line1,
    city: address.city,
    state: address.state,
    created_at: null,
    // A coverage refers to the organization itself, so every listed one can be its payer.
    carrier_id: organization.id ?? null,
  };
}

export function toPharmacy(organization: fhir.Organization): PharmacySource {
  const { line1, line2: _line2, ...address } = addressParts(currentAddress(organization.address));
  return {
    ehr_id: organization.id ?? '',
    name: nameOf(organization),
    address: { address1: line1, ...address },
    phone: contactValue(organization.telecom, 'phone'),
    email: contactValue(organization.telecom, 'email'),
    status: toStatus(organization.active),
  };
}

/** The id is prefixed, because a location and an organization may have the same id. */
export function locationToPharmacy(place: fhir.Location): PharmacySource {
  const { ehr_id, name, status, address, phone } = toLocation(place);
  const { address1, city, state, zip } = address;
  const email = contactValue(place.telecom, 'email');
  return { ehr_id: `Location/${ehr_id}`, name, address: { address1, city, state, zip }, phone, email, status };
}

/** The payer id, or an identifier that is not known to be something else. */
function payerIdOf({ identifier }: fhir.Organization): string | null {
  const plain = list(identifier).filter(
    ({ type, system }) => type === undefined && !other_systems.includes(system ?? ''),
  );
  return (
    identifierOf(identifier, { types: ['NIIP'], systems: payer_systems }) ?? first(plain, ({ value }) => text(value))
  );
}

/** Insurance companies and other payers. */
export function isInsurer({ type }: fhir.Organization): boolean {
  return list(type).some((each) => hasCode(each, organization_types, ['INS', 'PAY']));
}

export function isPharmacy({ type }: fhir.Organization): boolean {
  return list(type).some(
    (each) =>
      hasCode(each, snomed, ['264372000']) ||
      hasCode(each, role_codes, pharmacy_codes) ||
      list(each.coding).some(({ system, code }) => system === nucc && code?.startsWith('3336')),
  );
}

export function isPharmacyLocation({ type }: fhir.Location): boolean {
  return list(type).some((each) => hasCode(each, role_codes, pharmacy_codes));
}

const organization_types = 'http://terminology.hl7.org/CodeSystem/organization-type';
export const role_codes = 'http://terminology.hl7.org/CodeSystem/v3-RoleCode';
const pharmacy_codes = ['PHARM', 'OUTPHARM'];
const snomed = 'http://snomed.info/sct';
/** Health care provider taxonomy. Codes that start with 3336 are pharmacies. */
const nucc = 'http://nucc.org/provider-taxonomy';
/** NAIC company codes and payer ids. */
const payer_systems = ['http://hl7.org/fhir/sid/us-naic', 'urn:oid:2.16.840.1.113883.6.300'];

/** NPI, tax id, and our own marker. */
const other_systems = ['http://hl7.org/fhir/sid/us-npi', 'urn:oid:2.16.840.1.113883.4.4', marker_system];

function nameOf({ name, alias }: fhir.Organization): string {
  return text(name) ?? first(list(alias), text) ?? '';
}
