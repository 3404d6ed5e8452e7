import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Demographics } from '../../operations/patients.ts';
import type { Field } from '../fields.ts';
import { code_systems, list, nonEmptyList, text } from '../values.ts';

/** The extensions of US Core for race and ethnicity: the categories that US law defines. */
const us_core = 'http://hl7.org/fhir/us/core/StructureDefinition';
const categories = 'urn:oid:2.16.840.1.113883.6.238';

const unstated: readonly fhir.Coding[] = [
  { system: code_systems.null_flavor, code: 'ASKU', display: 'Declined to specify' },
  { system: code_systems.null_flavor, code: 'UNK', display: 'Unknown' },
];
const races: readonly fhir.Coding[] = [
  { system: categories, code: '1002-5', display: 'American Indian or Alaska Native' },
  { system: categories, code: '2028-9', display: 'Asian' },
  { system: categories, code: '2054-5', display: 'Black or African American' },
  { system: categories, code: '2076-8', display: 'Native Hawaiian or Other Pacific Islander' },
  { system: categories, code: '2106-3', display: 'White' },
  ...unstated,
];
const ethnicities: readonly fhir.Coding[] = [
  { system: categories, code: '2135-2', display: 'Hispanic or Latino' },
  { system: categories, code: '2186-5', display: 'Not Hispanic or Latino' },
  ...unstated,
];

/** Language, race and ethnicity, each with its place in a FHIR Patient. Values are names or codes. */
export const code_fields: readonly Field<fhir.Patient>[] = [
  {
    property: 'language',
    label: 'Language',
    read: ({ communication }) => {
      const { language } = findPreferred(communication) ?? {};
      const code = text(list(language?.coding)[0]?.code);
      return text(language?.text) ?? (code === null ? null : (languageNames.of(code) ?? code));
    },
    write: (patient, value) => {
      const present = findPreferred(patient.communication);
      const others = list(patient.communication)
        .filter((each) => each !== present)
        .map((each) => ({ ...each, preferred: undefined }));
      const coding = value === null ? undefined : findLanguage(value);
      const language = coding && { language: { coding: [coding], text: coding.display }, preferred: true };
      patient.communication = nonEmptyList([language ?? null, ...others]);
    },
  },
  categoryField('race', 'Race', races),
  categoryField('ethnicity', 'Ethnicity', ethnicities),
];

/** Rejects a code that FHIR does not have before anything is written. */
export function checkCodes({ language, race, ethnicity }: Demographics): void {
  if (language && !findLanguage(language)) {
    const message = `The EMR has no language '${language}'. Send an English name or an ISO 639-1 code: Spanish, es.`;
    throw new EmrFailure('refused', message, { code: 'unknown_value' });
  }
  checkCategory('race', race, races);
  checkCategory('ethnicity', ethnicity, ethnicities);
}

function checkCategory(property: string, value: string | null | undefined, codings: readonly fhir.Coding[]): void {
  if (!value || findCategory(value, codings)) return;
  const accepted = codings.map(({ display }) => display).join(', ');
  const message = `The EMR has no ${property} '${value}'. Available: ${accepted}.`;
  throw new EmrFailure('refused', message, { code: 'unknown_value' });
}

function categoryField(
  name: 'race' | 'ethnicity',
  label: string,
  codings: readonly fhir.Coding[],
): Field<fhir.Patient> {
  const url = `${us_core}/us-core-${name}`;
  return {
    property: name,
    label,
    read: ({ extension }) => {
      const parts = list(list(extension).find((each) => each.url === url)?.extension);
      return text(parts.find((part) => part.url === 'text')?.valueString);
    },
    write: (patient, value) => {
      const others = list(patient.extension).filter((each) => each.url !== url);
      const coding = value === null ? undefined : findCategory(value, codings);
      const category = coding && {
        url,
        extension: [
          { url: 'ombCategory', valueCoding: coding },
          { url: 'text', valueString: coding.display },
        ],
      };
      patient.extension = nonEmptyList([...others, category ?? null]);
    },
  };
}

function findCategory(value: string, codings: readonly fhir.Coding[]): fhir.Coding | undefined {
  return codings.find(({ code, display }) => [code, display].some((each) => fold(each ?? '') === fold(value)));
}

function findPreferred(all: fhir.PatientCommunication[] | undefined): fhir.PatientCommunication | undefined {
  return list(all).find((each) => each.preferred) ?? list(all)[0];
}

const languageNames = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' });

/** A language by its English name or its code, `Spanish` or `es`. */
function findLanguage(value: string): fhir.Coding | undefined {
  const requested = value.trim();
  const code = two_letters.find(
    (each) => each === requested.toLowerCase() || fold(languageNames.of(each) ?? '') === fold(requested),
  );
  const display = code && languageNames.of(code);
  return code && display ? { system: 'urn:ietf:bcp:47', code, display } : undefined;
}

/** The codes of ISO 639-1, without those that have no name. */
const letters = [...'abcdefghijklmnopqrstuvwxyz'];
const two_letters = letters
  .flatMap((first) => letters.map((second) => first + second))
  .filter((code) => languageNames.of(code) !== undefined);
