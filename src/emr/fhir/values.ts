import type * as fhir from 'fhir/r4.js';

/**
 * Conversion of FHIR data types. Nearly every field of a resource is optional and unchecked, so these functions treat
 * missing and malformed values as unknown.
 */

/** The defined elements of a list. Empty if it is not a list. */
export function list<T>(value: readonly T[] | undefined): T[] {
  return Array.isArray(value) ? value.filter((each) => each !== null && each !== undefined) : [];
}

/** A trimmed, non-empty text, or null. */
export function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

export function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** The text of a concept, else the display or code of its first coding. */
export function labelOf(concept: fhir.CodeableConcept | undefined): string | null {
  const codings = list(concept?.coding);
  return (
    text(concept?.text) ?? first(codings, (each) => text(each.display)) ?? first(codings, (each) => text(each.code))
  );
}

/** The code of a concept, of this system if one is given. Without a system, falls back to the text. */
export function codeOf(concept: fhir.CodeableConcept | undefined, system?: string): string | null {
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

export function first<T, Found>(all: readonly T[], find: (each: T) => Found | null): Found | null {
  for (const each of all) {
    const found = find(each);
    if (found !== null) return found;
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

export type Name = { first: string | null; middle: string | null; last: string | null; full: string | null };

/** The current name: official, else usual, else any other. */
export function nameOf(names: fhir.HumanName[] | undefined): Name {
  const name = currentName(names);
  const given = list(name?.given)
    .map(text)
    .filter((each) => each !== null);
  const [first_name = null, ...others] = given;
  const last = text(name?.family);
  const parts = [...list(name?.prefix).map(text), ...given, last, ...list(name?.suffix).map(text)];
  const full = text(name?.text) ?? text(parts.filter((each) => each !== null).join(' '));
  return { first: first_name, middle: text(others.join(' ')), last, full };
}

/** The element itself, for updates. */
export function currentName(names: fhir.HumanName[] | undefined): fhir.HumanName | undefined {
  const preferred_uses = ['official', 'usual', undefined];
  const current = list(names).filter(({ use }) => use !== 'old' && use !== 'maiden');
  return (
    preferred_uses.map((rank) => current.find(({ use }) => use === rank)).find((each) => each !== undefined) ??
    current[0]
  );
}

/** The current contact point of a kind: in the order of `uses`, then by rank. */
export function telecomOf(
  telecom: fhir.ContactPoint[] | undefined,
  system: fhir.ContactPoint['system'],
  uses: readonly fhir.ContactPoint['use'][],
): fhir.ContactPoint | undefined {
  const kind = list(telecom).filter((each) => each.system === system && each.use !== 'old' && text(each.value));
  const found = uses.map((use) =>
    kind.filter((each) => each.use === use).sort((a, b) => (a.rank ?? 99) - (b.rank ?? 99)),
  );
  return found.flat()[0];
}

/** The value of a contact point. US phone numbers are formatted as the interface searches them. */
export function contactValue(
  telecom: fhir.ContactPoint[] | undefined,
  system: fhir.ContactPoint['system'],
  uses: readonly fhir.ContactPoint['use'][] = any_use,
): string | null {
  const value = text(telecomOf(telecom, system, uses)?.value);
  return value === null || system === 'email' ? value : formatPhone(value);
}

const any_use: readonly fhir.ContactPoint['use'][] = ['work', undefined, 'home', 'mobile', 'temp'];

/**
 * `(555) 012-3456`, `+1 555 012 3456` and `tel:5550123456` become `555-012-3456`. Other numbers are left as they are.
 */
function formatPhone(value: string): string {
  const digits = digitsOf(value);
  return digits.length === 10 ? `${digits.slice(0, 3)}-${digits.slice(3, 6)}-${digits.slice(6)}` : value;
}

/** The digits of a phone number, without the country code. */
export function digitsOf(phone: string): string {
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
export function identifierOf(
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
const npi_system = 'http://hl7.org/fhir/sid/us-npi';

export function npiOf(identifiers: fhir.Identifier[] | undefined): string | null {
  return identifierOf(identifiers, { types: ['NPI'], systems: [npi_system] });
}

export function toSex(gender: unknown): 'male' | 'female' | 'unknown' {
  return gender === 'male' || gender === 'female' ? gender : 'unknown';
}

/** FHIR usually omits the flag for active records. */
export function toStatus(active: boolean | undefined): 'active' | 'inactive' {
  return active === false ? 'inactive' : 'active';
}

/** The texts of notes, one per line. */
export function notesOf(notes: fhir.Annotation[] | undefined): string | null {
  const texts = list(notes).map((note) => text(note.text));
  return text(texts.filter((each) => each !== null).join('\n'));
}
