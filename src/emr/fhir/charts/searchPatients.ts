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
    ...(first_name !== undefined && { given: givenForms(first_name) }),
    ...(last_name !== undefined && { family: nameForms(last_name) }),
    ...(phone !== undefined && {
      [canSearch(client, 'Patient', ['phone']) ? 'phone' : 'telecom']: phoneFormats(phone).map(searchValue).join(','),
    }),
  };
}

/** A name in the forms in which servers may store it. Each value matches by prefix. */
export function nameForms(...names: string[]): string {
  const forms = names.flatMap(spellings);
  // Servers ignore case: of forms that differ only by it, the first is searched.
  const distinct = forms.filter((form, n) => forms.findIndex((each) => isSameText(each, form)) === n);
  return distinct.map(searchValue).join(',');
}

/** A first name of several words may be several given names, so its first word is searched too. */
function givenForms(name: string): string {
  const [first_word = ''] = name.trim().split(/[\s\p{Pd}]/u);
  return nameForms(first_word, name);
}

/**
 * Composed, without accents for servers that do not ignore them, and with the usual apostrophes and hyphens, which
 * servers tell apart.
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

/** Servers compare phone numbers as text, and every EMR formats them differently. */
export function phoneFormats(phone: string): string[] {
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
  const phones = list(patient.telecom).filter(({ system }) => system !== 'email');
  return (
    (search.dob === undefined || dayOf(patient.birthDate, timezone) === search.dob) &&
    (search.first_name === undefined || isOneOf(search.first_name, names.flatMap(firstNames))) &&
    (search.last_name === undefined ||
      isOneOf(
        search.last_name,
        names.map(({ family }) => text(family) ?? ''),
      )) &&
    (search.phone === undefined || phones.some(({ value }) => hasDigits(value, digitsOf(search.phone ?? ''))))
  );
}

/** Compares whole names: with prefixes, a short name would return the chart of someone whose name only begins alike. */
function isOneOf(name: string, names: readonly string[]): boolean {
  return fold(name) !== '' && names.some((each) => fold(each) === fold(name));
}

/** The first given name, and the first ones together: a first name may consist of several. */
function firstNames({ given }: fhir.HumanName): string[] {
  const words = list(given).map((each) => text(each) ?? '');
  return words.map((_, n) => words.slice(0, n + 1).join(' '));
}

function hasDigits(phone: string | undefined, digits: string): boolean {
  return digits !== '' && digitsOf(phone ?? '') === digits;
}
