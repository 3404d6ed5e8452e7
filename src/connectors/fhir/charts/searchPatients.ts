import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import type { PatientSource } from '../../../model/records/patients.ts';
import { findsNobody, type PatientSearch } from '../../connector.ts';
import { dayOf } from '../clock.ts';
import { patientsWithMrn, toSources } from '../lists/patients.ts';
import { canSearch, createResolver, type Emr } from '../references.ts';
import { type SearchParams, searchValue } from '../transport/client.ts';
import { digitsOf, list, text } from '../values.ts';

/** Filters the results again, because a server may interpret a criterion more broadly. */
export async function searchPatients(emr: Emr, search: PatientSearch): Promise<PatientSource[]> {
  if (findsNobody(search)) return [];
  const found =
    search.mrn === undefined
      ? await emr.client.searchAll<fhir.Patient>('Patient', toParams(emr, search))
      : await patientsWithMrn(emr.client, search.mrn);
  const matching = found.filter((patient) => matches(patient, search, emr.timezone));
  return toSources(matching, emr, createResolver(emr.client));
}

function toParams({ client }: Emr, { dob, first_name, last_name, phone }: PatientSearch): SearchParams {
  return {
    // Some servers store instants, which a plain date does not match.
    ...(dob !== undefined && { birthdate: [`ge${dob}`, `le${dob}`] }),
    // A first name of several words may be several given names.
    ...(first_name !== undefined && { given: nameForms(first_name.trim().split(/\s/)[0] ?? '') }),
    ...(last_name !== undefined && { family: nameForms(last_name) }),
    ...(phone !== undefined && {
      [canSearch(client, 'Patient', ['phone']) ? 'phone' : 'telecom']: phoneFormats(phone).map(searchValue).join(','),
    }),
  };
}

/** Composed, and for servers that do not ignore accents, without them. Each value matches by prefix. */
export function nameForms(name: string): string {
  const forms = [name.normalize('NFC').trim().replace(/\s+/gu, ' '), fold(name)];
  return [...new Set(fold(name) === forms[0]?.toLowerCase() ? forms.slice(0, 1) : forms)].map(searchValue).join(',');
}

/** Servers compare phone numbers as text, and every EMR formats them differently. */
function phoneFormats(phone: string): string[] {
  const digits = digitsOf(phone);
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

function matches(patient: fhir.Patient, search: PatientSearch, timezone: string): boolean {
  const names = list(patient.name);
  const startsWithAny = (values: (string | undefined)[], prefix: string) =>
    fold(prefix) !== '' && values.some((each) => fold(text(each) ?? '').startsWith(fold(prefix)));
  const phones = list(patient.telecom).filter(({ system }) => system !== 'email');
  return (
    (search.dob === undefined || dayOf(patient.birthDate, timezone) === search.dob) &&
    (search.first_name === undefined ||
      startsWithAny(
        names.flatMap(({ given }) => [...list(given), list(given).join(' ')]),
        search.first_name,
      )) &&
    (search.last_name === undefined ||
      startsWithAny(
        names.map(({ family }) => family),
        search.last_name,
      )) &&
    (search.phone === undefined || phones.some(({ value }) => hasDigits(value, digitsOf(search.phone ?? ''))))
  );
}

function hasDigits(phone: string | undefined, digits: string): boolean {
  return digits !== '' && digitsOf(phone ?? '') === digits;
}
