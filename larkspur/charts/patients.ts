import { type Static, Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import {
  address,
  addressBlank,
  flag,
  id,
  idOrNull,
  moment,
  sexCode,
  text,
  textOrNull,
  usDateOrNull,
} from '../practice/fields.ts';

const emergencyContact = Type.Object(
  { firstName: textOrNull, lastName: textOrNull, relation: textOrNull, phone: textOrNull },
  { additionalProperties: false },
);

const row = Type.Object({
  patientId: id,
  mrn: id,
  lastName: text,
  firstName: text,
  middleName: textOrNull,
  birthDate: usDateOrNull,
  sexCode,
  homePhone: textOrNull,
  cellPhone: textOrNull,
  email: textOrNull,
  address,
  primaryInsuranceName: textOrNull,
  primarySubscriberNumber: textOrNull,
  noEmailReason: textOrNull,
  languageCode: textOrNull,
  raceCode: textOrNull,
  ethnicityCode: textOrNull,
  selfPayFlag: flag,
  releaseOfInfoFlag: flag,
  rxConsentFlag: flag,
  responsiblePartyCode: id,
  responsibleGuarantorId: idOrNull,
  referringId: idOrNull,
  referringFirstName: textOrNull,
  referringLastName: textOrNull,
  pcpId: idOrNull,
  pcpFirstName: textOrNull,
  pcpLastName: textOrNull,
  renderingProviderId: idOrNull,
  defaultFacilityId: idOrNull,
  emergencyContact: Type.Union([emergencyContact, Type.Null()]),
  lastModified: moment,
});

export type Patient = Static<typeof row>;

export const patients: RecordKind<typeof row> = {
  table: 'patients',
  record: 'patient',
  id: 'patientId',
  row,
  blank: {
    lastName: '',
    firstName: '',
    sexCode: 'U',
    address: addressBlank,
    selfPayFlag: 'N',
    releaseOfInfoFlag: 'Y',
    rxConsentFlag: 'Y',
    responsiblePartyCode: '1',
  },
  stamp: 'lastModified',
};

export interface PatientFilters {
  mrn?: string;
  lastName?: string;
  firstName?: string;
  birthDate?: string;
  phone?: string;
}

/** Names match from their beginning, whatever the case; a phone matches by its digits, at home or mobile. */
export function patientFilter(sql: Query, { mrn, lastName, firstName, birthDate, phone }: PatientFilters): Fragment {
  const digits = phone?.replace(/\D/g, '');
  return sql`
    true
    ${mrn === undefined ? sql`` : sql`and mrn = ${mrn}`}
    ${lastName === undefined ? sql`` : sql`and starts_with(lower(last_name), lower(${lastName}))`}
    ${firstName === undefined ? sql`` : sql`and starts_with(lower(first_name), lower(${firstName}))`}
    ${birthDate === undefined ? sql`` : sql`and birth_date = ${birthDate}`}
    ${digits === undefined ? sql`` : sql`and ${digits} in (${onlyDigits(sql, 'home_phone')}, ${onlyDigits(sql, 'cell_phone')})`}`;
}

/** What the search box of the clinic screens takes: every word stands in the MRN or in a name. */
export function patientSearch(sql: Query, words: string): Fragment {
  return words
    .split(/[\s,]+/)
    .filter((word) => word !== '')
    .reduce(
      (found, word) =>
        sql`${found} and strpos(lower(concat_ws(' ', mrn, first_name, middle_name, last_name)), lower(${word})) > 0`,
      sql`true`,
    );
}

export async function findMrn(sql: Query, patientId: string): Promise<string | undefined> {
  const [patient] = await sql<{ mrn: string }[]>`select mrn from patients where patient_id = ${patientId}`;
  return patient?.mrn;
}

/** The MRN of somebody of the same name, birth date and sex, whatever the case, the accents and the spaces. */
export async function findSamePerson(sql: Query, person: Person): Promise<string | undefined> {
  const name = foldedName(person);
  // Two requests for one person at the same moment: the second waits here, and then finds the first one's chart.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`patient ${name} ${person.birthDate} ${person.sexCode}`}, 0))`;
  const candidates = await sql<(Person & { mrn: string })[]>`
    select mrn, first_name, last_name, birth_date, sex_code from patients
    where birth_date = ${person.birthDate} and sex_code = ${person.sexCode} order by length(mrn), mrn`;
  return candidates.find((candidate) => foldedName(candidate) === name)?.mrn;
}

interface Person {
  firstName: string;
  lastName: string;
  birthDate: string;
  sexCode: string;
}

function foldedName({ firstName, lastName }: Person): string {
  const fold = (name: string) =>
    name
      .normalize('NFKD')
      .replace(/[\p{M}\s]/gu, '')
      .toLowerCase();
  return `${fold(firstName)} ${fold(lastName)}`;
}

function onlyDigits(sql: Query, column: string): Fragment {
  return sql`regexp_replace(${sql(column)}, '\\D', '', 'g')`;
}
