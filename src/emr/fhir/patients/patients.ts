import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import type { PatientSource } from '../../../model/records/patients.ts';
import type { MrnRule } from '../../connector.ts';
import { EmrFailure, unsupportedField } from '../../emrFailure.ts';
import { findsNobody, type PatientSearch } from '../../operations/patients.ts';
import { loadCoverages, type NamedCoverage, readMemberId } from '../coverage/coverage.ts';
import { dependent, incrementalList, type List } from '../lists.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { canSearch, createResolver, type Emr, type Resolver, refId, refIds } from '../references.ts';
import { listsOrExports, reads, searches } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { type SearchParams, searchValue } from '../transport/search.ts';
import {
  addressParts,
  contactValue,
  currentAddress,
  list,
  readDeceased,
  readLastName,
  readName,
  text,
  toDay,
  toPhoneDigits,
  toSex,
  toStatus,
} from '../values.ts';
import { isReplaced, readMrn } from './mrn.ts';

export const patients: List<fhir.Patient, PatientSource> = {
  type: 'Patient',
  toSources,
  toLeft: (patient, { client }) => {
    if (!isReplaced(patient)) return undefined;
    const mrn = readMrn(patient, client.mrn_rule);
    return { ehr_id: patient.id ?? '', mrn, merged_into: findReplacing(patient) };
  },
  dependents: [dependent('Coverage', (coverage: fhir.Coverage) => refId(coverage.beneficiary, 'Patient'))],
};

/**
 * Writes go to the chart returned here, so an ambiguous match must fail. An MRN may be an identifier or, for patients
 * without one, the resource id; both are searched.
 */
export async function findPatient(emr: Emr, mrn: string): Promise<PatientSource | undefined> {
  const charts = await findCharts(emr.client, mrn);
  if (charts.length > 1) {
    throw new EmrFailure('refused', 'The EMR has several patients with this MRN.', { code: 'patient_ambiguous' });
  }
  return (await toSources(charts, emr, createResolver(emr.client)))[0];
}

/** Filters the results again, because a server may interpret a criterion more broadly. */
export async function searchPatients(emr: Emr, search: PatientSearch): Promise<PatientSource[]> {
  if (findsNobody(search)) return [];
  const charts =
    search.mrn === undefined
      ? await emr.client.searchAll<fhir.Patient>('Patient', toParams(emr.client, search))
      : await findCharts(emr.client, search.mrn);
  const matching = charts.filter((patient) => matchesSearch(patient, search, emr.timezone));
  return toSources(matching, emr, createResolver(emr.client));
}

/** A name in the forms in which servers may store it. Each value matches by prefix. */
export function nameForms(...names: string[]): string {
  const forms = names.flatMap(spellings);
  // Servers ignore case: of forms that differ only by it, the first is searched.
  const distinct = forms.filter((form, n) => forms.findIndex((each) => isSameText(each, form)) === n);
  return distinct.map(searchValue).join(',');
}

/** Servers compare phone numbers as text, and every EMR formats them differently. */
export function phoneFormats(phone: string): string[] {
  const digits = toPhoneDigits(phone);
  const [area, exchange, line] = [digits.slice(0, 3), digits.slice(3, 6), digits.slice(6)];
  return [
    `${area}-${exchange}-${line}`,
    `(${area}) ${exchange}-${line}`,
    `(${area})${exchange}-${line}`,
    `${area}.${exchange}.${line}`,
    `${area} ${exchange} ${line}`,
    digits,
    `1${digits}`,
    `+1${digits}`,
    `+1-${area}-${exchange}-${line}`,
    `+1 ${area}-${exchange}-${line}`,
    `+1 (${area}) ${exchange}-${line}`,
    `+1 ${area} ${exchange} ${line}`,
    `1-${area}-${exchange}-${line}`,
  ];
}

export const home_uses: readonly fhir.ContactPoint['use'][] = ['home', undefined];
export const email_uses: readonly fhir.ContactPoint['use'][] = ['home', undefined, 'work', 'mobile'];

export function toPatient(
  patient: fhir.Patient,
  primary: NamedCoverage | undefined,
  timezone: string,
  mrn_rule: MrnRule | undefined,
): PatientSource {
  const name = readName(patient.name);
  const address = addressParts(currentAddress(patient.address));
  const deceased = readDeceased(patient);
  return {
    ehr_id: patient.id ?? '',
    mrn: readMrn(patient, mrn_rule),
    first_name: name.first ?? '',
    middle_name: name.middle,
    last_name: readLastName(name),
    dob: toDay(patient.birthDate, timezone),
    sex: toSex(patient.gender),
    phone: contactValue(patient.telecom, 'phone', home_uses),
    cell_phone: contactValue(patient.telecom, 'phone', ['mobile']),
    email: contactValue(patient.telecom, 'email', email_uses),
    address_street: address.line1,
    address_line2: address.line2,
    address_city: address.city,
    address_state: address.state,
    address_zip: address.zip,
    insurance_name: primary?.payer_name ?? null,
    insurance_subscriber_number: primary ? readMemberId(primary.coverage) : null,
    ...(patient.active !== undefined && { chart_status: toStatus(patient.active) }),
    ...(deceased !== undefined && { deceased }),
  };
}

/** Patients with their primary insurance. Skips charts that were merged into another one. */
async function toSources(page: fhir.Patient[], emr: Emr, resolver: Resolver): Promise<PatientSource[]> {
  const current = page.filter((patient) => !isReplaced(patient) && text(patient.id) !== null);
  const ids = current.map(({ id }) => id ?? '');
  const coverages = await loadCoverages(emr, ids, resolver);
  return current.map((patient) =>
    toPatient(patient, coverages.get(patient.id ?? '')?.[0], emr.timezone, emr.client.mrn_rule),
  );
}

/** The current charts with this MRN. If it belongs to merged charts only: those that they were merged into. */
async function findCharts(client: FhirClient, mrn: string): Promise<fhir.Patient[]> {
  const charts = await searchCharts(client, mrn);
  const current = charts.filter((patient) => !isReplaced(patient));
  if (current.length > 0) return current;
  const surviving = new Map<string | undefined, fhir.Patient>();
  for (const merged of charts) {
    const chart = await findSurvivingChart(client, merged);
    surviving.set(chart.id, chart);
  }
  return [...surviving.values()];
}

/** The chart that a merged one was merged into, over several merges. Throws if it cannot be determined. */
async function findSurvivingChart(client: FhirClient, merged: fhir.Patient): Promise<fhir.Patient> {
  const seen = new Set<string | undefined>();
  let patient: fhir.Patient | undefined = merged;
  while (patient && isReplaced(patient) && !seen.has(patient.id)) {
    seen.add(patient.id);
    patient = await client.read<fhir.Patient>('Patient', findReplacing(patient) ?? '');
  }
  if (patient && !isReplaced(patient)) return patient;
  const message = 'This chart was merged into another one in the EMR, which cannot be determined.';
  throw new EmrFailure('refused', message, { code: 'patient_not_found' });
}

/** The id of the chart that this one was merged into. Null for several, or one on another server: a person has to decide. */
function findReplacing({ link }: fhir.Patient): string | null {
  const replacing = list(link).filter(({ type }) => type === 'replaced-by');
  const targets = refIds(
    replacing.map(({ other }) => other),
    'Patient',
  );
  return targets.length === 1 ? (targets[0] ?? null) : null;
}

async function searchCharts(client: FhirClient, mrn: string): Promise<fhir.Patient[]> {
  if (mrn.length > mrn_max) return [];
  const by_number = await client.searchAll<fhir.Patient>('Patient', { identifier: searchValue(mrn) });
  const by_id = /^[A-Za-z0-9.-]{1,64}$/.test(mrn) ? await findById(client, mrn) : [];
  const matching = [...by_number, ...by_id].filter((patient) => readMrn(patient, client.mrn_rule) === mrn);
  return [...new Map(matching.map((patient) => [patient.id, patient])).values()];
}

/** The id may be an MRN. It is sent in a body rather than in a URL where possible. */
async function findById(client: FhirClient, id: string): Promise<fhir.Patient[]> {
  if (client.capabilities.searches_by_form && canSearch(client, 'Patient', ['_id'])) {
    return client.searchAll<fhir.Patient>('Patient', { _id: id });
  }
  const patient = await client.read<fhir.Patient>('Patient', id);
  return patient ? [patient] : [];
}

/** Much longer values would exceed the URL limit of some servers. */
const mrn_max = 200;

/** The criteria that the server can search by. Throws if none is left: it would return every patient. */
function toParams(client: FhirClient, { dob, first_name, last_name, phone }: PatientSearch): SearchParams {
  const findParam = (...names: string[]) => names.find((name) => canSearch(client, 'Patient', [name]));
  const by_parts = findParam('family') !== undefined;
  const criteria: [param: string | undefined, value: SearchParams[string] | undefined][] = [
    // Some servers store instants, which a plain date does not match.
    [findParam('birthdate'), dob === undefined ? undefined : [`ge${dob}`, `le${dob}`]],
    [by_parts ? findParam('given') : undefined, first_name === undefined ? undefined : givenForms(first_name)],
    [findParam('family', 'name'), last_name === undefined ? undefined : nameForms(last_name)],
    [findParam('phone', 'telecom'), phone === undefined ? undefined : phoneFormats(phone).map(searchValue).join(',')],
  ];
  const params = Object.fromEntries(
    criteria.flatMap(([param, value]) => (param === undefined || value === undefined ? [] : [[param, value]])),
  );
  if (Object.keys(params).length > 0) return params;
  throw unsupportedField(dob !== undefined ? 'dob' : phone !== undefined ? 'phone' : 'last_name');
}

/** A first name of several words may be several given names, so its first word is searched too. */
function givenForms(name: string): string {
  const [first_word = ''] = name.trim().split(/[\s\p{Pd}]/u);
  return nameForms(first_word, name);
}

/**
 * Composed, without accents for servers that do not ignore them, and with the usual apostrophes and hyphens, which
 * servers treat as different.
 */
function spellings(name: string): string[] {
  const composed = name.normalize('NFC').trim().replace(/\s+/gu, ' ');
  return [composed, fold(name)].flatMap((form) => [
    form,
    ...separators.flatMap((separator) => apostrophes.map((apostrophe) => respell(form, separator, apostrophe))),
  ]);
}

function isSameText(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

const separators = ['-', ' '];
const apostrophes = ["'", '’'];

function respell(name: string, separator: string, apostrophe: string): string {
  return name
    .replace(/[\s\p{Pd}]+/gu, separator)
    .replace(/[\u0027\u0060\u00b4\u02bc\u2018\u2019\u2032\uff07]/gu, apostrophe);
}

function matchesSearch(patient: fhir.Patient, search: PatientSearch, timezone: string): boolean {
  const names = list(patient.name);
  const phones = list(patient.telecom).filter(({ system }) => system !== 'email');
  return (
    (search.dob === undefined || toDay(patient.birthDate, timezone) === search.dob) &&
    (search.first_name === undefined || isOneOf(search.first_name, names.flatMap(joinFirstNames))) &&
    (search.last_name === undefined ||
      isOneOf(
        search.last_name,
        names.map(({ family }) => text(family) ?? ''),
      )) &&
    (search.phone === undefined || phones.some(({ value }) => hasDigits(value, toPhoneDigits(search.phone ?? ''))))
  );
}

/** Compares whole names: a prefix would also match the charts of other patients. */
function isOneOf(name: string, names: readonly string[]): boolean {
  return fold(name) !== '' && names.some((each) => fold(each) === fold(name));
}

/** The first given name, the first two, and so on: a first name may consist of several. */
function joinFirstNames({ given }: fhir.HumanName): string[] {
  const words = list(given).map((each) => text(each) ?? '');
  return words.map((_, n) => words.slice(0, n + 1).join(' '));
}

function hasDigits(phone: string | undefined, digits: string): boolean {
  return digits !== '' && toPhoneDigits(phone ?? '') === digits;
}

export const patient_operations: readonly FhirOperation[] = [
  { operation: 'listPatients', requires: [listsOrExports('Patient')], open: (emr) => incrementalList(emr, patients) },
  {
    operation: 'findPatient',
    requires: [searches('Patient', 'identifier'), reads('Patient')],
    open: reading(findPatient),
  },
  {
    operation: 'searchPatients',
    requires: [
      { ...searches('Patient', 'identifier'), or: searches('Patient', 'family|name', 'birthdate') },
      reads('Patient'),
    ],
    field_requires: {
      include: [searches('Coverage', 'beneficiary|patient')],
      dob: [searches('Patient', 'birthdate')],
      first_name: [searches('Patient', 'family|name')],
      last_name: [searches('Patient', 'family|name')],
      phone: [searches('Patient', 'phone|telecom')],
      mrn: [searches('Patient', 'identifier')],
    },
    open: reading(searchPatients),
  },
];
