import type * as fhir from 'fhir/r4.js';
import type { InsuranceProviderSource } from '../../../model/records/insuranceProviders.ts';
import { type List, plainList } from '../lists.ts';
import type { FhirOperation } from '../operation.ts';
import { listsOrExports } from '../transport/capabilities.ts';
import { marker_system } from '../transport/creates.ts';
import { addressParts, code_systems, currentAddress, first, hasCode, list, readIdentifier, text } from '../values.ts';

export const insuranceProviders: List<fhir.Organization, InsuranceProviderSource> = {
  type: 'Organization',
  toSources: async (page) => page.filter(isInsurer).map(toInsuranceProvider),
};

export function toInsuranceProvider(organization: fhir.Organization): InsuranceProviderSource {
  const address = addressParts(currentAddress(organization.address));
  return {
    ehr_id: organization.id ?? '',
    name: readOrganizationName(organization),
    payer_id: readPayerId(organization),
    active: organization.active !== false,
    address: address.line1,
    city: address.city,
    state: address.state,
    created_at: null,
    // A coverage refers to the organization itself, so every listed one can be its payer.
    carrier_id: organization.id ?? null,
  };
}

/** The payer id, else an identifier without a type or a system that is known to be something else. */
function readPayerId({ identifier }: fhir.Organization): string | null {
  const plain = list(identifier).filter(
    ({ type, system }) => type === undefined && !other_systems.includes(system ?? ''),
  );
  return (
    readIdentifier(identifier, { types: ['NIIP'], systems: payer_systems }) ?? first(plain, ({ value }) => text(value))
  );
}

/** Insurance companies and other payers. */
export function isInsurer({ type }: fhir.Organization): boolean {
  return list(type).some((each) => hasCode(each, organization_types, ['INS', 'PAY']));
}

export function isPharmacy({ type }: fhir.Organization): boolean {
  return list(type).some(
    (each) =>
      hasCode(each, code_systems.snomed, ['264372000']) ||
      hasCode(each, code_systems.role, pharmacy_codes) ||
      list(each.coding).some(({ system, code }) => system === nucc && code?.startsWith('3336')),
  );
}

export function isPharmacyLocation({ type }: fhir.Location): boolean {
  return list(type).some((each) => hasCode(each, code_systems.role, pharmacy_codes));
}

const organization_types = 'http://terminology.hl7.org/CodeSystem/organization-type';
const pharmacy_codes = ['PHARM', 'OUTPHARM'];
/** Health care provider taxonomy. Codes that start with 3336 are pharmacies. */
const nucc = 'http://nucc.org/provider-taxonomy';
/** NAIC company codes and payer ids. */
const payer_systems = ['http://hl7.org/fhir/sid/us-naic', 'urn:oid:2.16.840.1.113883.6.300'];

/** NPI, tax id, and our own marker. */
const other_systems = [code_systems.us_npi, 'urn:oid:2.16.840.1.113883.4.4', marker_system];

export function readOrganizationName({ name, alias }: fhir.Organization): string {
  return text(name) ?? first(list(alias), text) ?? '';
}

export const insurance_provider_operations: readonly FhirOperation[] = [
  {
    operation: 'listInsuranceProviders',
    requires: [listsOrExports('Organization')],
    open: (emr) => plainList(emr, insuranceProviders),
  },
];
