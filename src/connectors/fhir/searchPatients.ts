import type * as fhir from 'fhir/r4.js';
import type { PatientSource } from '../../model/records/patients.ts';
import type { PatientSearch } from '../connector.ts';
import { type SearchParams, searchValue } from './client.ts';
import { dayOf } from './clock.ts';
import { patientsWithMrn, sourcesOf } from './patients.ts';
import { canSearch, type Emr, resolverOf } from './references.ts';
import { digitsOf, list, text } from './values.ts';

/** Every criterion is looked at again here: a server may read one of them more widely than it was meant. */
export async function searchPatients(emr: Emr, search: PatientSearch): Promise<PatientSource[]> {
  const found =
    search.mrn === undefined
      ? await emr.client.searchAll<fhir.Patient>('Patient', paramsOf(emr, search))
      : await patientsWithMrn(emr.client, search.mrn);
  const fitting = found.filter((patient) => fits(patient, search, emr.timezone));
  return sourcesOf(fitting, emr, resolverOf(emr.client));
}

function paramsOf({ client }: Emr, { dob, first_name, last_name, phone }: PatientSearch): SearchParams {
  return {
    // Some servers keep instants, which a day by itself does not match.
    ...(dob !== undefined && { birthdate: [`ge${dob}`, `le${dob}`] }),
    ...(first_name !== undefined && { given: searchValue(first_name) }),
    ...(last_name !== undefined && { family: searchValue(last_name) }),
    ...(phone !== undefined && {
      [canSearch(client, 'Patient', ['phone']) ? 'phone' : 'telecom']: spellingsOf(phone).map(searchValue).join(','),
    }),
  };
}

/** Numbers are compared as texts, and every EMR writes them in its own way. */
function spellingsOf(phone: string): string[] {
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

function fits(patient: fhir.Patient, search: PatientSearch, timezone: string): boolean {
  const names = list(patient.name);
  const begins = (said: (string | undefined)[], asked: string) =>
    said.some((each) => fold(text(each) ?? '').startsWith(fold(asked)));
  const phones = list(patient.telecom).filter(({ system }) => system !== 'email');
  return (
    (search.dob === undefined || dayOf(patient.birthDate, timezone) === search.dob) &&
    (search.first_name === undefined ||
      begins(
        names.flatMap(({ given }) => list(given)),
        search.first_name,
      )) &&
    (search.last_name === undefined ||
      begins(
        names.map(({ family }) => family),
        search.last_name,
      )) &&
    (search.phone === undefined || phones.some(({ value }) => digitsOf(value ?? '') === digitsOf(search.phone ?? '')))
  );
}

/** Names as FHIR compares them: without case and without accents. */
function fold(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
