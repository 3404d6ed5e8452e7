import { type Static, Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { address, addressBlank, id, text, textOrNull, usDate } from '../practice/fields.ts';

const row = Type.Object({
  patientId: id,
  mrn: id,
  lastName: text,
  firstName: text,
  middleName: textOrNull,
  birthDate: Type.Union([usDate, Type.Null()]),
  sexCode: Type.Enum(['M', 'F', 'U']),
  homePhone: textOrNull,
  cellPhone: textOrNull,
  email: textOrNull,
  address,
  primaryInsuranceName: textOrNull,
  primarySubscriberNumber: textOrNull,
  lastModified: Type.Unsafe<Date>({}),
});

export type Patient = Static<typeof row>;

export const patients: RecordKind<typeof row> = {
  table: 'patients',
  record: 'patient',
  id: 'patientId',
  row,
  blank: { lastName: '', firstName: '', sexCode: 'U', address: addressBlank },
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

export interface Background {
  languageCode: string | null;
  raceCode: string | null;
  ethnicityCode: string | null;
}

export async function getBackground(sql: Query, patientId: string): Promise<Background> {
  const [background] = await sql<Background[]>`
    select language_code, race_code, ethnicity_code from patients where patient_id = ${patientId}`;
  return background ?? { languageCode: null, raceCode: null, ethnicityCode: null };
}

function onlyDigits(sql: Query, column: string): Fragment {
  return sql`regexp_replace(${sql(column)}, '\\D', '', 'g')`;
}
