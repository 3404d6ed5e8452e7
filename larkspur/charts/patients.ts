import { Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import {
  address,
  emptyAddress,
  flag,
  id,
  idOrNull,
  sexCode,
  text,
  textOrNull,
  timestamp,
  usDateOrNull,
} from '../records/fields.ts';
import { foldName, matchesSearch } from '../records/foldName.ts';
import { listRecords, type Page, type RowOf, recordKind } from '../records/recordKind.ts';

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
  /** A chart that was merged into another one is inactive. */
  activeFlag: flag,
  mergedInto: idOrNull,
  lastModified: timestamp,
});

export const patients = recordKind(
  { table: 'patients', record: 'patient', id: 'patientId', updated_column: 'lastModified' },
  row,
  {
    lastName: '',
    firstName: '',
    sexCode: 'U',
    address: emptyAddress,
    selfPayFlag: 'N',
    releaseOfInfoFlag: 'Y',
    rxConsentFlag: 'Y',
    responsiblePartyCode: '1',
    activeFlag: 'Y',
  },
);

export type Patient = RowOf<typeof patients>;

export interface PatientFilters {
  mrn?: string;
  lastName?: string;
  firstName?: string;
  birthDate?: string;
  phone?: string;
}

/**
 * Names match by prefix, compared by `foldName`. A phone number matches the home or cell phone by its digits. A blank
 * criterion matches nobody.
 */
export async function listPatients(sql: Query, filters: PatientFilters, page: Page) {
  const { mrn, lastName, firstName, birthDate, phone } = filters;
  const digits = phone?.replace(/\D/g, '');
  const blank = [mrn, lastName, firstName, birthDate, digits].some((each) => each?.trim() === '');
  const others = sql`
    ${blank ? sql`false and` : sql``}
    true
    ${mrn === undefined ? sql`` : sql`and mrn = ${mrn}`}
    ${birthDate === undefined ? sql`` : sql`and birth_date = ${birthDate}`}
    ${digits === undefined ? sql`` : sql`and ${digits} in (${onlyDigits(sql, 'home_phone')}, ${onlyDigits(sql, 'cell_phone')})`}`;
  if (lastName === undefined && firstName === undefined) return listRecords(sql, patients, page, others);
  const matches = (row: NamedPatient) => startsWith(row.lastName, lastName) && startsWith(row.firstName, firstName);
  return listMatching(sql, others, matches, page);
}

/** Lists patients where every search term occurs in the MRN or the name. */
export function searchPatients(sql: Query, search: string, page: Page) {
  const matches = ({ mrn, firstName, middleName, lastName }: NamedPatient) =>
    matchesSearch(search, [mrn, firstName, middleName, lastName]);
  return listMatching(sql, sql`true`, matches, page);
}

export async function findMrn(sql: Query, patientId: string): Promise<string | undefined> {
  const [patient] = await sql<{ mrn: string }[]>`select mrn from patients where patient_id = ${patientId}`;
  return patient?.mrn;
}

/**
 * The MRN of a patient with the same name, birth date and sex. Names are compared by `foldName`. For a merged chart, it is
 * that of the surviving one.
 */
export async function findDuplicatePatient(sql: Query, person: Person): Promise<string | undefined> {
  const name = normalizedName(person);
  // Of two concurrent requests for one person, the second waits here and then finds the first one's chart.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`patient ${name} ${person.birthDate} ${person.sexCode}`}, 0))`;
  const candidates = await sql<(Person & { mrn: string })[]>`
    select coalesce(surviving.mrn, chart.mrn) as mrn, chart.first_name, chart.last_name, chart.birth_date, chart.sex_code
      from patients as chart left join patients as surviving on surviving.patient_id = chart.merged_into
     where chart.birth_date = ${person.birthDate} and chart.sex_code = ${person.sexCode}
     order by length(chart.mrn), chart.mrn`;
  return candidates.find((candidate) => normalizedName(candidate) === name)?.mrn;
}

interface Person {
  firstName: string;
  lastName: string;
  birthDate: string;
  sexCode: string;
}

function normalizedName({ firstName, lastName }: Person): string {
  return `${foldName(firstName)}\n${foldName(lastName)}`;
}

type NamedPatient = Pick<Patient, 'patientId' | 'mrn' | 'firstName' | 'middleName' | 'lastName'>;

async function listMatching(sql: Query, filter: Fragment, matches: (row: NamedPatient) => boolean, page: Page) {
  const rows = await sql<NamedPatient[]>`
    select patient_id, mrn, first_name, middle_name, last_name from patients where ${filter}`;
  const ids = rows.filter(matches).map(({ patientId }) => patientId);
  return listRecords(sql, patients, page, sql`patient_id = any(${ids})`);
}

/** A prefix without letters matches nothing. */
function startsWith(name: string, prefix: string | undefined): boolean {
  return prefix === undefined || (foldName(prefix) !== '' && foldName(name).startsWith(foldName(prefix)));
}

function onlyDigits(sql: Query, column: string): Fragment {
  return sql`regexp_replace(${sql(column)}, '\\D', '', 'g')`;
}
