import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type Operations } from '../../connector.ts';
import { pharmacyIdOf, preferred_pharmacy, preferredPharmacies, primary_label } from '../charts/pharmacies.ts';
import type { Emr } from '../references.ts';
import { can, type Requirement } from '../requirements.ts';
import type { FhirClient } from '../transport/client.ts';
import { list } from '../values.ts';
import type { Field } from './fields.ts';
import { requireRecords } from './requireRecords.ts';

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
    const [first] = preferredPharmacies(patient);
    return first ? pharmacyIdOf(first.reference) : null;
  },
  write: (patient, value) => {
    if (value !== null) patient.extension = withPharmacy(patient, value);
  },
};

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

export function hasPharmacy(patient: fhir.Patient, pharmacy_ehr_id: string): boolean {
  return preferredPharmacies(patient).some(({ reference }) => pharmacyIdOf(reference) === pharmacy_ehr_id);
}

/** Thrown if the server did not keep the pharmacy that was written. The write is not offered from then on. */
export async function droppedPharmacy(client: FhirClient): Promise<EmrFailure> {
  await client.learn((facts) => {
    facts.dropped_extensions = [...new Set([...(facts.dropped_extensions ?? []), preferred_pharmacy])];
  });
  const message = 'The server does not keep the preferred pharmacy of a patient.';
  return new EmrFailure('refused', message, { code: 'not_supported', not_offered: true });
}

/** The first pharmacy of a patient is the primary one. */
function withPharmacy(patient: fhir.Patient, pharmacy_ehr_id: string): fhir.Extension[] {
  const all = list(patient.extension);
  if (hasPharmacy(patient, pharmacy_ehr_id)) return all;
  const reference = pharmacy_ehr_id.startsWith('Location/') ? pharmacy_ehr_id : `Organization/${pharmacy_ehr_id}`;
  const label = preferredPharmacies(patient).length === 0 ? primary_label : 'preferred';
  const parts = [
    { url: 'pharmacy', valueReference: { reference } },
    { url: 'type', valueCodeableConcept: { text: label } },
  ];
  return [...all, { url: preferred_pharmacy, extension: parts }];
}
