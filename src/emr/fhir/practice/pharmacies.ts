import type * as fhir from 'fhir/r4.js';
import type { PharmacySource } from '../../../model/records/pharmacies.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Listing } from '../../operations/operation.ts';
import type { Operations } from '../../operations/operations.ts';
import type { EmrPatientPharmacy } from '../../operations/practice.ts';
import type { Field } from '../fields.ts';
import { type List, readAll, wholeList } from '../lists.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { canSearch, createResolver, type Emr, refId, refIds, searchChart } from '../references.ts';
import { can, listsOrExports, type Requirement, reads, searches } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { addressParts, contactValue, currentAddress, list, readLabel, text, toStatus } from '../values.ts';
import { requireRecords } from '../writeSteps.ts';
import { toLocation } from './locations.ts';
import { isPharmacy, isPharmacyLocation, readOrganizationName } from './organizations.ts';

/** Pharmacies are stored as Organization or as Location, depending on the server. */
export function pharmacies(emr: Emr): Listing<PharmacySource> {
  return wholeList(emr, ['Organization', 'Location'], () => listPharmacies(emr));
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
  if (emr.client.capabilities.listPlan('Location')) yield* readAll(emr, places);
}

/** The pharmacies that the chart names as preferred, then those of the prescriptions. */
export async function listPatientPharmacies(emr: Emr, patient_ehr_id: string): Promise<EmrPatientPharmacy[]> {
  const { client } = emr;
  const patient = client.capabilities.interactions('Patient').has('read')
    ? await client.read<fhir.Patient>('Patient', patient_ehr_id)
    : undefined;
  const preferred = readPreferredPharmacies(patient);
  const references = [...preferred.map(({ reference }) => reference), ...(await loadDispensers(emr, patient_ehr_id))];
  const resolver = createResolver(client);
  const organizations = await resolver.load<fhir.Organization>('Organization', refIds(references, 'Organization'));
  const places = await resolver.load<fhir.Location>('Location', refIds(references, 'Location'));
  const primary = (preferred.find((each) => each.is_primary) ?? preferred[0])?.reference;
  const all = [...[...organizations.values()].map(toPharmacy), ...[...places.values()].map(locationToPharmacy)];
  const shown = all.map(({ ehr_id, name, address, phone }) => {
    const { address1, city, state, zip } = address;
    const is_primary = primary && readPharmacyId(primary) === ehr_id ? ('1' as const) : ('0' as const);
    return { ehr_id, is_primary, name, address: address1, city, state, zip, phone };
  });
  return shown.sort((a, b) => Number(b.is_primary) - Number(a.is_primary));
}

export function addPatientPharmacy(emr: Emr): Operations['addPatientPharmacy'] {
  const { client } = emr;
  return {
    send: async ({ patient_ehr_id, pharmacy_ehr_id }, marker) => {
      await requireRecords(client, patient_ehr_id, { pharmacy: pharmacy_ehr_id });
      const { after } = await client.update<fhir.Patient>(
        'Patient',
        patient_ehr_id,
        (now) => ({ ...now, extension: withPharmacy(now, pharmacy_ehr_id) }),
        marker,
      );
      if (!hasPharmacy(after, pharmacy_ehr_id)) throw await droppedPharmacy(client);
      return { ehr_id: pharmacy_ehr_id };
    },
    ...(client.canFind('Patient') && {
      find: async (marker, { pharmacy_ehr_id }) => {
        const patient = await client.findByMarker<fhir.Patient>('Patient', marker);
        return patient && hasPharmacy(patient, pharmacy_ehr_id) ? { ehr_id: pharmacy_ehr_id } : undefined;
      },
    }),
  };
}

/** HL7's extension for the pharmacies that a patient prefers. R4 itself has no element for them. */
const preferred_pharmacy = 'http://hl7.org/fhir/StructureDefinition/patient-preferredPharmacy';
const primary_label = 'primary';

/** Servers keep extensions or drop them, and their statements do not say which: the first write shows it. */
export const new_patient_pharmacy: readonly Requirement[] = [
  { ...can('Patient', 'create'), extension: preferred_pharmacy },
];
export const added_pharmacy: readonly Requirement[] = [
  { ...can('Patient', 'read', 'update'), extension: preferred_pharmacy },
];

/** The pharmacy of a new patient. Writing it adds one to the list. */
export const pharmacy_field: Field<fhir.Patient> = {
  property: 'pharmacy_id',
  label: 'Pharmacy',
  read: (patient) => {
    const [first] = readPreferredPharmacies(patient);
    return first ? readPharmacyId(first.reference) : null;
  },
  write: (patient, value) => {
    if (value !== null) patient.extension = withPharmacy(patient, value);
  },
};

export function hasPharmacy(patient: fhir.Patient, pharmacy_ehr_id: string): boolean {
  return readPreferredPharmacies(patient).some(({ reference }) => readPharmacyId(reference) === pharmacy_ehr_id);
}

/** Thrown if the server did not keep the pharmacy that was written. The write is not offered from then on. */
export async function droppedPharmacy(client: FhirClient): Promise<EmrFailure> {
  await client.learn((facts) => {
    facts.dropped_extensions = [...new Set([...(facts.dropped_extensions ?? []), preferred_pharmacy])];
  });
  const message = 'The server does not keep the preferred pharmacy of a patient.';
  return new EmrFailure('refused', message, { code: 'not_supported', not_offered: true });
}

/** The id of a pharmacy that is a Location contains its type. */
export function pharmacyReference(ehr_id: string): fhir.Reference {
  return { reference: ehr_id.startsWith('Location/') ? ehr_id : `Organization/${ehr_id}` };
}

async function loadDispensers({ client }: Emr, patient_ehr_id: string): Promise<(fhir.Reference | undefined)[]> {
  if (!canSearch(client, 'MedicationRequest', ['patient'])) return [];
  const type = 'MedicationRequest';
  const requests = await searchChart<fhir.MedicationRequest>(client, type, patient_ehr_id, ({ subject }) => [subject]);
  return requests.map(({ dispenseRequest }) => dispenseRequest?.performer);
}

type PreferredPharmacy = { reference: fhir.Reference; is_primary: boolean };

/** The pharmacies in the extension, in order. Servers write its URL with http or https, and the pharmacy as a part or as the value. */
function readPreferredPharmacies(patient: fhir.Patient | undefined): PreferredPharmacy[] {
  return list(patient?.extension)
    .filter(({ url }) => url?.replace(/^https:/, 'http:') === preferred_pharmacy)
    .flatMap((each) => {
      const parts = list(each.extension);
      const reference = parts.find(({ url }) => url === 'pharmacy')?.valueReference ?? each.valueReference;
      if (text(reference?.reference) === null || !reference) return [];
      const type = readLabel(parts.find(({ url }) => url === 'type')?.valueCodeableConcept);
      return [{ reference, is_primary: type?.toLowerCase() === primary_label }];
    });
}

/** The id of a pharmacy in the interface: that of a Location contains its type. */
export function readPharmacyId(reference: fhir.Reference | undefined): string | null {
  const place = refId(reference, 'Location');
  return place === null ? refId(reference, 'Organization') : `Location/${place}`;
}

export function toPharmacy(organization: fhir.Organization): PharmacySource {
  const { line1, line2: _line2, ...address } = addressParts(currentAddress(organization.address));
  return {
    ehr_id: organization.id ?? '',
    name: readOrganizationName(organization),
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

/** The first pharmacy of a patient is the primary one. */
function withPharmacy(patient: fhir.Patient, pharmacy_ehr_id: string): fhir.Extension[] {
  const all = list(patient.extension);
  if (hasPharmacy(patient, pharmacy_ehr_id)) return all;
  const label = readPreferredPharmacies(patient).length === 0 ? primary_label : 'preferred';
  const parts = [
    { url: 'pharmacy', valueReference: pharmacyReference(pharmacy_ehr_id) },
    { url: 'type', valueCodeableConcept: { text: label } },
  ];
  return [...all, { url: preferred_pharmacy, extension: parts }];
}

export const pharmacy_operations: readonly FhirOperation[] = [
  { operation: 'listPharmacies', requires: [listsOrExports('Organization')], open: pharmacies },
  {
    operation: 'listPatientPharmacies',
    requires: [{ ...searches('MedicationRequest', 'patient'), or: reads('Patient') }],
    open: reading(listPatientPharmacies),
  },
  { operation: 'addPatientPharmacy', requires: added_pharmacy, open: addPatientPharmacy },
];
