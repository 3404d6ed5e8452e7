import type * as fhir from 'fhir/r4.js';
import type { InsuranceProviderSource } from '../../model/records/insuranceProviders.ts';
import type { LocationSource } from '../../model/records/locations.ts';
import type { PharmacySource } from '../../model/records/pharmacies.ts';
import type { EmrPatientPharmacy } from '../connector.ts';
import { marker_system } from './client.ts';
import { type List, whole } from './lists.ts';
import { canSearch, type Emr, idsIn, resolverOf } from './references.ts';
import { activity, addressOf, addressParts, contactOf, first, identifierOf, isCoded, list, text } from './values.ts';

/** Places where patients are seen: not kinds of places, and not the pharmacies, which have a list of their own. */
export const locations: List<fhir.Location, LocationSource> = {
  type: 'Location',
  sources: async (page) => page.filter((each) => each.mode !== 'kind' && !isPharmacyPlace(each)).map(locationOf),
};

export const insuranceProviders: List<fhir.Organization, InsuranceProviderSource> = {
  type: 'Organization',
  sources: async (page) => page.filter(isInsurer).map(insuranceProviderOf),
};

/** FHIR has pharmacies among places and, by the codes of other systems, among organizations. */
export async function* listPharmacies(emr: Emr): AsyncGenerator<PharmacySource[]> {
  const organizations: List<fhir.Organization, PharmacySource> = {
    type: 'Organization',
    sources: async (page) => page.filter(isPharmacy).map(pharmacyOf),
  };
  yield* whole(emr, organizations);
  const places: List<fhir.Location, PharmacySource> = {
    type: 'Location',
    sources: async (page) => page.filter(isPharmacyPlace).map(pharmacyPlaceOf),
  };
  if (canSearch(emr.client, 'Location')) yield* whole(emr, places);
}

/** The pharmacies that a patient's prescriptions were meant for: FHIR keeps no list of a patient's own. */
export async function listPatientPharmacies(emr: Emr, patient_ehr_id: string): Promise<EmrPatientPharmacy[]> {
  const params = { patient: `Patient/${patient_ehr_id}` };
  const requests = await emr.client.searchAll<fhir.MedicationRequest>('MedicationRequest', params);
  const performers = requests.map(({ dispenseRequest }) => dispenseRequest?.performer);
  const ids = idsIn(performers, 'Organization');
  const found = await resolverOf(emr.client).load<fhir.Organization>('Organization', ids);
  return [...found.values()].map((organization) => {
    const { ehr_id, name, address, phone } = pharmacyOf(organization);
    const { address1, city, state, zip } = address;
    return { ehr_id, is_primary: '0', name, address: address1, city, state, zip, phone };
  });
}

export function locationOf(location: fhir.Location): LocationSource {
  const { line1, line2, ...address } = addressParts(location.address);
  return {
    ehr_id: location.id ?? '',
    name: text(location.name) ?? first(list(location.alias), text) ?? text(location.description) ?? '',
    status: activity((location.status ?? 'active') === 'active'),
    address: { address1: line1, address2: line2, ...address },
    phone: contactOf(location.telecom, 'phone'),
    fax: contactOf(location.telecom, 'fax'),
  };
}

export function insuranceProviderOf(organization: fhir.Organization): InsuranceProviderSource {
  const address = addressParts(addressOf(organization.address));
  return {
    ehr_id: organization.id ?? '',
    name: nameOf(organization),
    payer_id: payerIdOf(organization),
    active: organization.active !== false,
    address: address.line1,
    city: address.city,
    state: address.state,
    created_at: null,
    // A coverage refers to the organization itself: whoever is listed can be made its payer.
    carrier_id: organization.id ?? null,
  };
}

export function pharmacyOf(organization: fhir.Organization): PharmacySource {
  const { line1, line2: _line2, ...address } = addressParts(addressOf(organization.address));
  return {
    ehr_id: organization.id ?? '',
    name: nameOf(organization),
    address: { address1: line1, ...address },
    phone: contactOf(organization.telecom, 'phone'),
    email: contactOf(organization.telecom, 'email'),
    status: activity(organization.active),
  };
}

/** A place and an organization may bear the same id, so that of a place says what it is. */
export function pharmacyPlaceOf(place: fhir.Location): PharmacySource {
  const { ehr_id, name, status, address, phone } = locationOf(place);
  const { address1, city, state, zip } = address;
  const email = contactOf(place.telecom, 'email');
  return { ehr_id: `Location/${ehr_id}`, name, address: { address1, city, state, zip }, phone, email, status };
}

/** The number that insurers are told apart by; else one of which nothing says that it is another kind of number. */
function payerIdOf({ identifier }: fhir.Organization): string | null {
  const plain = list(identifier).filter(
    ({ type, system }) => type === undefined && !other_systems.includes(system ?? ''),
  );
  return (
    identifierOf(identifier, { types: ['NIIP'], systems: payer_systems }) ?? first(plain, ({ value }) => text(value))
  );
}

/** Of insurance companies and of others who pay. */
export function isInsurer({ type }: fhir.Organization): boolean {
  return list(type).some((each) => isCoded(each, organization_types, ['INS', 'PAY']));
}

export function isPharmacy({ type }: fhir.Organization): boolean {
  return list(type).some(
    (each) =>
      isCoded(each, snomed, ['264372000']) ||
      isCoded(each, role_codes, pharmacy_codes) ||
      list(each.coding).some(({ system, code }) => system === nucc && code?.startsWith('3336')),
  );
}

function isPharmacyPlace({ type }: fhir.Location): boolean {
  return list(type).some((each) => isCoded(each, role_codes, pharmacy_codes));
}

const organization_types = 'http://terminology.hl7.org/CodeSystem/organization-type';
const role_codes = 'http://terminology.hl7.org/CodeSystem/v3-RoleCode';
const pharmacy_codes = ['PHARM', 'OUTPHARM'];
const snomed = 'http://snomed.info/sct';
/** Health care provider taxonomy; what begins with 3336 is a pharmacy of some kind. */
const nucc = 'http://nucc.org/provider-taxonomy';
/** Numbers of the insurers' association. */
const payer_systems = ['http://hl7.org/fhir/sid/us-naic', 'urn:oid:2.16.840.1.113883.6.300'];

/** Providers' numbers, tax numbers, and our own marks. */
const other_systems = ['http://hl7.org/fhir/sid/us-npi', 'urn:oid:2.16.840.1.113883.4.4', marker_system];

function nameOf({ name, alias }: fhir.Organization): string {
  return text(name) ?? first(list(alias), text) ?? '';
}
