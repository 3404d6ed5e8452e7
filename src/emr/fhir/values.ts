import type * as fhir from 'fhir/r4.js';
import { addDays, isDate, parseInstant } from '../../platform/time/days.ts';
import { localTimeAt, todayIn, withOffset } from '../../platform/time/zones.ts';

/** Code systems that several resources use. */
export const code_systems = {
  act: 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
  icd_10_cm: 'http://hl7.org/fhir/sid/icd-10-cm',
  null_flavor: 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor',
  /** Primary (`PPRF`) and secondary (`SPRF`) performers. */
  participation: 'http://terminology.hl7.org/CodeSystem/v3-ParticipationType',
  /** Personal relationships, and kinds of places. */
  role: 'http://terminology.hl7.org/CodeSystem/v3-RoleCode',
  snomed: 'http://snomed.info/sct',
  us_npi: 'http://hl7.org/fhir/sid/us-npi',
} as const;

/**
 * Conversion of FHIR data types. Nearly every field of a resource is optional and unchecked, so these functions treat
 * missing and malformed values as unknown.
 */

/** The defined elements of a list. Empty if it is not a list. */
export function list<T>(value: readonly T[] | undefined): T[] {
  return Array.isArray(value) ? value.filter((each) => each !== null && each !== undefined) : [];
}

/** The elements that are not null, or undefined if there are none: FHIR does not allow empty lists. */
export function nonEmptyList<T>(all: readonly (T | null)[]): T[] | undefined {
  const present = all.filter((each): each is T => each !== null);
  return present.length > 0 ? present : undefined;
}

/** A trimmed, non-empty text, or null. */
export function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

export function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** The text of a concept, else the display or code of its first coding. */
export function readLabel(concept: fhir.CodeableConcept | undefined): string | null {
  const codings = list(concept?.coding);
  return (
    text(concept?.text) ?? first(codings, (each) => text(each.display)) ?? first(codings, (each) => text(each.code))
  );
}

/** The code of a concept in this system. Without a system: any code, else the text. */
export function readCode(concept: fhir.CodeableConcept | undefined, system?: string): string | null {
  const codings = list(concept?.coding).filter((each) => system === undefined || each.system === system);
  const code = first(codings, (each) => text(each.code));
  return code ?? (system === undefined ? text(concept?.text) : null);
}

/** Whether a concept has one of these codes. A coding without a system matches any system. */
export function hasCode(concept: fhir.CodeableConcept | undefined, system: string, codes: readonly string[]): boolean {
  return list(concept?.coding).some(
    (each) => (each.system ?? system) === system && codes.includes(text(each.code)?.toUpperCase() ?? ''),
  );
}

/** The first value that is not null. */
export function first<T, Value>(all: readonly T[], read: (each: T) => Value | null): Value | null {
  for (const each of all) {
    const value = read(each);
    if (value !== null) return value;
  }
  return null;
}

/** Node 20 has no `Map.groupBy`. */
export function groupBy<T>(all: readonly T[], key: (each: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const each of all) {
    const group = groups.get(key(each));
    if (group) group.push(each);
    else groups.set(key(each), [each]);
  }
  return groups;
}

type Name = { first: string | null; middle: string | null; last: string | null; full: string | null };

/** The current name: official, else usual, else any other. */
export function readName(names: fhir.HumanName[] | undefined): Name {
  const name = currentName(names);
  const given_names = list(name?.given)
    .map(text)
    .filter((each) => each !== null);
  const [first_name = null, ...others] = given_names;
  const last = text(name?.family);
  const parts = [...list(name?.prefix).map(text), ...given_names, last, ...list(name?.suffix).map(text)];
  const full = text(name?.text) ?? text(parts.filter((each) => each !== null).join(' '));
  return { first: first_name, middle: text(others.join(' ')), last, full };
}

/** The family name. A name without parts is not split. */
export function readLastName({ first: first_name, last, full }: Name): string {
  return last ?? (first_name === null ? full : null) ?? '';
}

/** The element that `readName` reads, for updates. */
export function currentName(names: fhir.HumanName[] | undefined): fhir.HumanName | undefined {
  const preferred_uses = ['official', 'usual', undefined];
  const current = list(names).filter(({ use }) => use !== 'old' && use !== 'maiden');
  return (
    preferred_uses.map((rank) => current.find(({ use }) => use === rank)).find((each) => each !== undefined) ??
    current[0]
  );
}

/** The current contact point of a kind: in the order of `uses`, then by rank. */
export function findTelecom(
  telecom: fhir.ContactPoint[] | undefined,
  system: fhir.ContactPoint['system'],
  uses: readonly fhir.ContactPoint['use'][],
): fhir.ContactPoint | undefined {
  const kind = list(telecom).filter((each) => each.system === system && each.use !== 'old' && text(each.value));
  const ranked = uses.map((use) =>
    kind.filter((each) => each.use === use).sort((a, b) => (a.rank ?? 99) - (b.rank ?? 99)),
  );
  return ranked.flat()[0];
}

/** The value of a contact point. US phone numbers are formatted as the interface searches them. */
export function contactValue(
  telecom: fhir.ContactPoint[] | undefined,
  system: fhir.ContactPoint['system'],
  uses: readonly fhir.ContactPoint['use'][] = any_use,
): string | null {
  const value = text(findTelecom(telecom, system, uses)?.value);
  return value === null || system === 'email' ? value : formatPhone(value);
}

const any_use: readonly fhir.ContactPoint['use'][] = ['work', undefined, 'home', 'mobile', 'temp'];

/**
 * `(555) 012-3456`, `+1 555 012 3456` and `tel:5550123456` become `555-012-3456`. Other numbers are left as they are.
 */
function formatPhone(value: string): string {
  const digits = toPhoneDigits(value);
  return digits.length === 10 ? `${digits.slice(0, 3)}-${digits.slice(3, 6)}-${digits.slice(6)}` : value;
}

/** The digits of a phone number, without the country code. */
export function toPhoneDigits(phone: string): string {
  return phone.replace(/\D/g, '').replace(/^1(?=\d{10}$)/, '');
}

/** The current address. A billing address is used only if there is no other. */
export function currentAddress(addresses: fhir.Address[] | undefined): fhir.Address | undefined {
  const current = list(addresses).filter(({ use }) => use !== 'old');
  const preferred_uses: fhir.Address['use'][] = ['home', undefined, 'work', 'temp', 'billing'];
  return preferred_uses.map((rank) => current.find(({ use }) => use === rank)).find((each) => each !== undefined);
}

export function addressParts(address: fhir.Address | undefined) {
  const [line1 = null, ...more] = list(address?.line)
    .map(text)
    .filter((each) => each !== null);
  return {
    line1: line1 ?? text(address?.text),
    line2: text(more.join(', ')),
    city: text(address?.city),
    state: text(address?.state),
    zip: text(address?.postalCode),
  };
}

/** The value of an identifier with one of these types or systems. */
export function readIdentifier(
  identifiers: fhir.Identifier[] | undefined,
  { types = [], systems = [] }: { types?: readonly string[]; systems?: readonly string[] },
): string | null {
  const current = list(identifiers).filter(({ use }) => use !== 'old');
  const fits = ({ type, system }: fhir.Identifier) =>
    systems.includes(system ?? '') || hasCode(type, identifier_types, types);
  return first(current.filter(fits), ({ value }) => text(value));
}

/** HL7's identifier types: `MR` is a medical record number. */
const identifier_types = 'http://terminology.hl7.org/CodeSystem/v2-0203';

export function readNpi(identifiers: fhir.Identifier[] | undefined): string | null {
  return readIdentifier(identifiers, { types: ['NPI'], systems: [code_systems.us_npi] });
}

export function toSex(gender: unknown): 'male' | 'female' | 'unknown' {
  return gender === 'male' || gender === 'female' ? gender : 'unknown';
}

/** Whether a patient has died. Undefined if the server does not say. */
export function readDeceased({ deceasedBoolean, deceasedDateTime }: fhir.Patient): boolean | undefined {
  return text(deceasedDateTime) === null ? deceasedBoolean : true;
}

/** FHIR usually omits the flag for active records. */
export function toStatus(active: boolean | undefined): 'active' | 'inactive' {
  return active === false ? 'inactive' : 'active';
}

/** Whether a record is active and its period has not ended. */
export function isInForce(
  { status, period }: { status?: string | undefined; period?: fhir.Period | undefined },
  timezone: string,
): boolean {
  const last_day = toDay(period?.end, timezone);
  return (status ?? 'active') === 'active' && (last_day === null || last_day >= todayIn(timezone));
}

/** The texts of notes, one per line. */
export function joinNotes(notes: fhir.Annotation[] | undefined): string | null {
  const texts = list(notes).map((note) => text(note.text));
  return text(texts.filter((each) => each !== null).join('\n'));
}

/** The local time at an instant, `2026-03-08T09:30:00`; null if the value is not an instant of the years 1 to 9999. */
export function toLocalTime(moment: unknown, timezone: string): string | null {
  const value = text(moment);
  if (value === null || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return null;
  // The standard requires an offset. If a server leaves it out, the time is taken as local.
  if (!/(Z|[+-]\d\d:?\d\d)$/.test(value)) return isDate(value.slice(0, 10)) ? `${value.slice(0, 16)}:00` : null;
  const ms = parseInstant(value);
  const local = ms === undefined ? '' : localTimeAt(ms, timezone);
  // The evening of 9999-12-31 is in the year 10000 elsewhere.
  return isDate(local.slice(0, 10)) ? local : null;
}

/** The local time with its offset, which distinguishes the two passes of an hour when clocks go back. */
export function toOffsetTime(moment: unknown, timezone: string): string | null {
  const local = toLocalTime(moment, timezone);
  const value = text(moment);
  return local === null || value === null || parseInstant(value) === undefined ? local : withOffset(value, timezone);
}

/** The day of a date or an instant; null for a year or month alone. */
export function toDay(moment: unknown, timezone: string): string | null {
  const value = text(moment);
  if (value === null) return null;
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return isDate(value) ? value : null;
  return toLocalTime(value, timezone)?.slice(0, 10) ?? null;
}

/** A range of days as a search criterion, one day wider on either side: servers use time zones of their own. */
export function searchDays(from: string, to: string): string[] {
  return [`ge${addDays(from, -1)}`, `le${addDays(to, 1)}`];
}

/** A condition may have codes of several systems. Without a system, the form of the code decides. */
export function readIcdCode(concept: fhir.CodeableConcept | undefined): string | null {
  const codings = list(concept?.coding);
  const named = first(codings, ({ system, code }) => (isIcd(system) ? text(code) : null));
  const unnamed = first(codings, ({ system, code }) =>
    system === undefined && /^[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?$/.test(code ?? '') ? text(code) : null,
  );
  return named ?? unnamed;
}

/** ICD-10-CM, ICD-10 and ICD-9-CM, by name or by OID. */
function isIcd(system: string | undefined): boolean {
  return /\bicd-?(9|10)/i.test(system ?? '') || icd_oids.includes(system ?? '');
}

const icd_oids = ['6.90', '6.3', '6.103'].map((oid) => `urn:oid:2.16.840.1.113883.${oid}`);
