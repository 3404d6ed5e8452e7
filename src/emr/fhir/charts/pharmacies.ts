import type * as fhir from 'fhir/r4.js';
import type { EmrPatientPharmacy } from '../../connector.ts';
import { locationToPharmacy, toPharmacy } from '../lists/organizations.ts';
import { canSearch, createResolver, type Emr, onlyOf, refId, refIds } from '../references.ts';
import { labelOf, list, text } from '../values.ts';

/** HL7's extension for the pharmacies that a patient prefers. R4 itself has no element for them. */
export const preferred_pharmacy = 'http://hl7.org/fhir/StructureDefinition/patient-preferredPharmacy';
export const primary_label = 'primary';

/** The pharmacies that the chart names as preferred, then those of the prescriptions. */
export async function listPatientPharmacies(emr: Emr, patient_ehr_id: string): Promise<EmrPatientPharmacy[]> {
  const { client } = emr;
  const patient = client.capabilities.interactions('Patient').has('read')
    ? await client.read<fhir.Patient>('Patient', patient_ehr_id)
    : undefined;
  const preferred = preferredPharmacies(patient);
  const references = [...preferred.map(({ reference }) => reference), ...(await dispensers(emr, patient_ehr_id))];
  const resolver = createResolver(client);
  const organizations = await resolver.load<fhir.Organization>('Organization', refIds(references, 'Organization'));
  const places = await resolver.load<fhir.Location>('Location', refIds(references, 'Location'));
  const primary = (preferred.find((each) => each.is_primary) ?? preferred[0])?.reference;
  const found = [...[...organizations.values()].map(toPharmacy), ...[...places.values()].map(locationToPharmacy)];
  const shown = found.map(({ ehr_id, name, address, phone }) => {
    const { address1, city, state, zip } = address;
    const is_primary = primary && pharmacyIdOf(primary) === ehr_id ? ('1' as const) : ('0' as const);
    return { ehr_id, is_primary, name, address: address1, city, state, zip, phone };
  });
  return shown.sort((a, b) => Number(b.is_primary) - Number(a.is_primary));
}

async function dispensers({ client }: Emr, patient_ehr_id: string): Promise<(fhir.Reference | undefined)[]> {
  if (!canSearch(client, 'MedicationRequest', ['patient'])) return [];
  const params = { patient: `Patient/${patient_ehr_id}` };
  const found = await client.searchAll<fhir.MedicationRequest>('MedicationRequest', params);
  const own = onlyOf(patient_ehr_id, found, ({ subject }) => [subject]);
  return own.map(({ dispenseRequest }) => dispenseRequest?.performer);
}

export type PreferredPharmacy = { reference: fhir.Reference; is_primary: boolean };

/** As the extension says, in order. Servers write its address with http or https, and the pharmacy with or without type. */
export function preferredPharmacies(patient: fhir.Patient | undefined): PreferredPharmacy[] {
  return list(patient?.extension)
    .filter(({ url }) => url?.replace(/^https:/, 'http:') === preferred_pharmacy)
    .flatMap((each) => {
      const parts = list(each.extension);
      const reference = parts.find(({ url }) => url === 'pharmacy')?.valueReference ?? each.valueReference;
      if (text(reference?.reference) === null || !reference) return [];
      const type = labelOf(parts.find(({ url }) => url === 'type')?.valueCodeableConcept);
      return [{ reference, is_primary: type?.toLowerCase() === primary_label }];
    });
}

/** The id of a pharmacy in the interface: that of a Location contains its type. */
export function pharmacyIdOf(reference: fhir.Reference): string | null {
  const place = refId(reference, 'Location');
  return place === null ? refId(reference, 'Organization') : `Location/${place}`;
}
