import type * as fhir from 'fhir/r4.js';
import type { PatientSource } from '../../model/records/patients.ts';
import { EmrFailure } from '../connector.ts';
import { type FhirClient, searchValue } from './client.ts';
import { dayOf } from './clock.ts';
import { coveragesOf, type Insured, memberIdOf } from './coverage.ts';
import type { List } from './lists.ts';
import { canSearch, type Emr, idIn, type Resolver, resolverOf } from './references.ts';
import { addressOf, addressParts, contactOf, identifierOf, list, nameOf, sexOf, text } from './values.ts';

export const patients: List<fhir.Patient, PatientSource> = {
  type: 'Patient',
  sources: sourcesOf,
  touching: [{ type: 'Coverage', owner: (coverage: fhir.Coverage) => idIn(coverage.beneficiary, 'Patient') }],
};

/** Patients with the insurance that pays first. Whoever was merged into another chart is known by that one. */
export async function sourcesOf(page: fhir.Patient[], emr: Emr, resolver: Resolver): Promise<PatientSource[]> {
  const current = page.filter((patient) => !isReplaced(patient) && text(patient.id) !== null);
  const ids = current.map(({ id }) => id ?? '');
  const insured = await coveragesOf(emr, ids, resolver);
  return current.map((patient) => patientOf(patient, insured.get(patient.id ?? '')?.[0], emr.timezone));
}

export function patientOf(patient: fhir.Patient, insured: Insured | undefined, timezone: string): PatientSource {
  const name = nameOf(patient.name);
  const address = addressParts(addressOf(patient.address));
  return {
    ehr_id: patient.id ?? '',
    mrn: mrnOf(patient),
    first_name: name.first ?? '',
    middle_name: name.middle,
    // A name that comes in one piece is not taken apart.
    last_name: name.last ?? (name.first === null ? name.full : null) ?? '',
    dob: dayOf(patient.birthDate, timezone),
    sex: sexOf(patient.gender),
    phone: contactOf(patient.telecom, 'phone', home_uses),
    cell_phone: contactOf(patient.telecom, 'phone', ['mobile']),
    email: contactOf(patient.telecom, 'email', email_uses),
    address_street: address.line1,
    address_line2: address.line2,
    address_city: address.city,
    address_state: address.state,
    address_zip: address.zip,
    insurance_name: insured?.payer_name ?? null,
    insurance_subscriber_number: insured ? memberIdOf(insured.coverage) : null,
  };
}

export const home_uses: readonly fhir.ContactPoint['use'][] = ['home', undefined];
export const email_uses: readonly fhir.ContactPoint['use'][] = ['home', undefined, 'work', 'mobile'];

/**
 * The medical record number, by HL7's code for it or as the number for everyday use. A server that gives none knows its
 * patients by their ids, and so do we.
 */
export function mrnOf(patient: fhir.Patient): string {
  const typed = identifierOf(patient.identifier, { types: ['MR'] });
  const usual = list(patient.identifier).find(({ use, type }) => use === 'usual' && type === undefined);
  return typed ?? text(usual?.value) ?? patient.id ?? '';
}

/**
 * A write goes into the chart of whoever is returned here: nobody rather than somebody else. A number may be an
 * identifier or, of a patient without one, the id: both are asked for.
 */
export async function findPatient(emr: Emr, mrn: string): Promise<PatientSource | undefined> {
  const found = await patientsWithMrn(emr.client, mrn);
  if (found.length > 1) throw new EmrFailure('refused', 'The EMR has several patients with this MRN.');
  return (await sourcesOf(found, emr, resolverOf(emr.client)))[0];
}

export async function patientsWithMrn(client: FhirClient, mrn: string): Promise<fhir.Patient[]> {
  if (mrn.length > mrn_max) return [];
  const by_number = await client.searchAll<fhir.Patient>('Patient', { identifier: searchValue(mrn) });
  const by_id = /^[A-Za-z0-9.-]{1,64}$/.test(mrn) ? await patientsWithId(client, mrn) : [];
  const fitting = [...by_number, ...by_id].filter((patient) => mrnOf(patient) === mrn && !isReplaced(patient));
  return [...new Map(fitting.map((patient) => [patient.id, patient])).values()];
}

/** A number that may be an MRN stands in no address where it can stand in a body. */
async function patientsWithId(client: FhirClient, id: string): Promise<fhir.Patient[]> {
  if (client.capabilities.searches_by_form && canSearch(client, 'Patient', ['_id'])) {
    return client.searchAll<fhir.Patient>('Patient', { _id: id });
  }
  const found = await client.read<fhir.Patient>('Patient', id);
  return found ? [found] : [];
}

/** Far beyond it the address of the question itself would be refused. */
const mrn_max = 200;

export function isReplaced({ link }: fhir.Patient): boolean {
  return list(link).some(({ type }) => type === 'replaced-by');
}
