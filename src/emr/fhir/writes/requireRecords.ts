import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../connector.ts';
import { mrnOf } from '../mrn.ts';
import { canSearch, refId } from '../references.ts';
import { noSuchRecord } from '../transport/call.ts';
import type { FhirClient } from '../transport/client.ts';
import { list, text } from '../values.ts';

/** Records that a write refers to, by the name of their kind. null and undefined are not referred to. */
export type Referenced = Partial<Record<keyof typeof types, string | readonly (string | null)[] | null | undefined>>;

const types = {
  provider: 'Practitioner',
  'staff member': 'Practitioner',
  'primary care provider': 'Practitioner',
  'referring provider': 'Practitioner',
  location: 'Location',
  pharmacy: 'Organization',
  'insurance company': 'Organization',
  encounter: 'Encounter',
  medication: 'MedicationRequest',
  guarantor: 'RelatedPerson',
} as const satisfies Record<string, fhir.FhirResource['resourceType']>;

/**
 * Throws unless all of these records exist. Many servers store references to records that do not exist, so everything
 * that a write refers to is read before anything is written. A type that the server does not let us read is not checked.
 */
export async function requireRecords(client: FhirClient, patient_ehr_id: string | null, records: Referenced = {}) {
  const wanted = Object.entries(records).flatMap(([name, ids]) =>
    [ids ?? []].flat().flatMap((id) => (id === null ? [] : [{ name: name as keyof typeof types, id }])),
  );
  const patient = patient_ehr_id === null ? undefined : await requirePatient(client, patient_ehr_id);
  for (const { name, id } of wanted) {
    // The id of a pharmacy that is a Location contains its type.
    const place = refId({ reference: id }, 'Location');
    if (await isMissing(client, place === null ? types[name] : 'Location', place ?? id)) {
      throw new EmrFailure('not_found', `The EMR has no ${name} with ID '${id}'.`);
    }
  }
  return patient;
}

/** The chart, if it can be written to: it exists, was not merged into another one, and the patient is alive. */
async function requirePatient(client: FhirClient, id: string): Promise<fhir.Patient | undefined> {
  if (!canRead(client, 'Patient')) return undefined;
  const patient = await fetch<fhir.Patient>(client, 'Patient', id);
  if (!patient) throw noSuchRecord('Patient');
  const replaced = list(patient.link).find(({ type }) => type === 'replaced-by');
  if (replaced) {
    const into = refId(replaced.other, 'Patient');
    const current = into === null ? undefined : await fetch<fhir.Patient>(client, 'Patient', into);
    const where = current ? `the chart with MRN '${mrnOf(current, client.mrn_rule)}'` : 'another one';
    throw new EmrFailure('refused', `This chart was merged into ${where}.`, { code: 'patient_not_found' });
  }
  if (patient.deceasedBoolean === true || text(patient.deceasedDateTime) !== null) {
    throw new EmrFailure('refused', 'According to the EMR, the patient is deceased.', { code: 'record_inactive' });
  }
  return patient;
}

async function isMissing(client: FhirClient, type: fhir.FhirResource['resourceType'], id: string): Promise<boolean> {
  return canRead(client, type) && (await fetch(client, type, id)) === undefined;
}

function canRead(client: FhirClient, type: string): boolean {
  return client.capabilities.interactions(type).has('read') || canSearch(client, type, ['_id']);
}

async function fetch<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  id: string,
): Promise<T | undefined> {
  if (client.capabilities.interactions(type).has('read')) return client.read<T>(type, id);
  return (await client.searchAll<T>(type, { _id: id })).find((each) => each.id === id);
}
