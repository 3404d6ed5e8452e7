import type * as fhir from 'fhir/r4.js';
import type { PatientSource } from '../../../model/records/patients.ts';
import { EmrFailure, type MrnRule } from '../../connector.ts';
import { loadCoverages, memberIdOf, type NamedCoverage } from '../charts/coverage.ts';
import { dayOf } from '../clock.ts';
import { isReplaced, mrnOf } from '../mrn.ts';
import { canSearch, createResolver, type Emr, type Resolver, refId, refIds } from '../references.ts';
import { type FhirClient, searchValue } from '../transport/client.ts';
import { addressParts, contactValue, currentAddress, list, nameOf, text, toSex, toStatus } from '../values.ts';
import type { List } from './readList.ts';

export const patients: List<fhir.Patient, PatientSource> = {
  type: 'Patient',
  toSources,
  hasLeft: isReplaced,
  dependents: [{ type: 'Coverage', owner: (coverage: fhir.Coverage) => refId(coverage.beneficiary, 'Patient') }],
};

/** Patients with their primary insurance. Skips charts that were merged into another one. */
export async function toSources(page: fhir.Patient[], emr: Emr, resolver: Resolver): Promise<PatientSource[]> {
  const current = page.filter((patient) => !isReplaced(patient) && text(patient.id) !== null);
  const ids = current.map(({ id }) => id ?? '');
  const coverages = await loadCoverages(emr, ids, resolver);
  return current.map((patient) =>
    toPatient(patient, coverages.get(patient.id ?? '')?.[0], emr.timezone, emr.client.mrn_rule),
  );
}

export function toPatient(
  patient: fhir.Patient,
  coverages: NamedCoverage | undefined,
  timezone: string,
  mrn_rule: MrnRule | undefined,
): PatientSource {
  const name = nameOf(patient.name);
  const address = addressParts(currentAddress(patient.address));
  return {
    ehr_id: patient.id ?? '',
    mrn: mrnOf(patient, mrn_rule),
    first_name: name.first ?? '',
    middle_name: name.middle,
    // A name without parts is not split.
    last_name: name.last ?? (name.first === null ? name.full : null) ?? '',
    dob: dayOf(patient.birthDate, timezone),
    sex: toSex(patient.gender),
    phone: contactValue(patient.telecom, 'phone', home_uses),
    cell_phone: contactValue(patient.telecom, 'phone', ['mobile']),
    email: contactValue(patient.telecom, 'email', email_uses),
    address_street: address.line1,
    address_line2: address.line2,
    address_city: address.city,
    address_state: address.state,
    address_zip: address.zip,
    insurance_name: coverages?.payer_name ?? null,
    insurance_subscriber_number: coverages ? memberIdOf(coverages.coverage) : null,
    ...(patient.active !== undefined && { chart_status: toStatus(patient.active) }),
    ...(deceasedOf(patient) !== undefined && { deceased: deceasedOf(patient) === true }),
  };
}

/** Whether the patient has died, undefined if the server does not say. A date of death means that they have. */
function deceasedOf({ deceasedBoolean, deceasedDateTime }: fhir.Patient): boolean | undefined {
  return text(deceasedDateTime) === null ? deceasedBoolean : true;
}

/** The chart that a merged one was merged into, over several merges. Refuses if that cannot be told. */
async function survivingChart(client: FhirClient, merged: fhir.Patient): Promise<fhir.Patient> {
  const seen = new Set<string | undefined>();
  let patient: fhir.Patient | undefined = merged;
  while (patient && isReplaced(patient) && !seen.has(patient.id)) {
    seen.add(patient.id);
    const replacing = list(patient.link).filter(({ type }) => type === 'replaced-by');
    const targets = refIds(
      replacing.map(({ other }) => other),
      'Patient',
    );
    // Several, or one on another server: a person has to decide.
    const [target = ''] = targets.length === 1 ? targets : [];
    patient = await client.read<fhir.Patient>('Patient', target);
  }
  if (patient && !isReplaced(patient)) return patient;
  const message = 'This chart was merged into another one in the EMR, which cannot be determined.';
  throw new EmrFailure('refused', message, { code: 'patient_not_found' });
}

export const home_uses: readonly fhir.ContactPoint['use'][] = ['home', undefined];
export const email_uses: readonly fhir.ContactPoint['use'][] = ['home', undefined, 'work', 'mobile'];

/**
 * Writes go to the chart returned here, so an ambiguous match must fail. An MRN may be an identifier or, for patients
 * without one, the resource id; both are searched.
 */
export async function findPatient(emr: Emr, mrn: string): Promise<PatientSource | undefined> {
  const charts = await patientsWithMrn(emr.client, mrn);
  if (charts.length > 1) {
    throw new EmrFailure('refused', 'The EMR has several patients with this MRN.', { code: 'patient_ambiguous' });
  }
  return (await toSources(charts, emr, createResolver(emr.client)))[0];
}

/** The current charts with this MRN. If it belongs to merged charts only: those that they were merged into. */
export async function patientsWithMrn(client: FhirClient, mrn: string): Promise<fhir.Patient[]> {
  const found = await chartsWithMrn(client, mrn);
  const current = found.filter((patient) => !isReplaced(patient));
  if (current.length > 0) return current;
  const surviving = new Map<string | undefined, fhir.Patient>();
  for (const merged of found) {
    const chart = await survivingChart(client, merged);
    surviving.set(chart.id, chart);
  }
  return [...surviving.values()];
}

async function chartsWithMrn(client: FhirClient, mrn: string): Promise<fhir.Patient[]> {
  if (mrn.length > mrn_max) return [];
  const by_number = await client.searchAll<fhir.Patient>('Patient', { identifier: searchValue(mrn) });
  const by_id = /^[A-Za-z0-9.-]{1,64}$/.test(mrn) ? await patientsWithId(client, mrn) : [];
  const matching = [...by_number, ...by_id].filter((patient) => mrnOf(patient, client.mrn_rule) === mrn);
  return [...new Map(matching.map((patient) => [patient.id, patient])).values()];
}

/** The id may be an MRN. It is sent in a body rather than in a URL where possible. */
async function patientsWithId(client: FhirClient, id: string): Promise<fhir.Patient[]> {
  if (client.capabilities.searches_by_form && canSearch(client, 'Patient', ['_id'])) {
    return client.searchAll<fhir.Patient>('Patient', { _id: id });
  }
  const found = await client.read<fhir.Patient>('Patient', id);
  return found ? [found] : [];
}

/** Much longer values would exceed the URL limit of some servers. */
const mrn_max = 200;
