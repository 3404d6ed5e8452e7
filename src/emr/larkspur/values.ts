import { Type } from 'typebox';
import { formatInstant, isDate } from '../../platform/time/days.ts';
import { EmrFailure } from '../emrFailure.ts';

/** Larkspur's value formats and their conversion. */
export const id = Type.String({ minLength: 1 });
export const text = Type.String();
export const textOrNull = Type.Union([Type.String(), Type.Null()]);
export const numberOrNull = Type.Union([Type.Number(), Type.Null()]);
export const flag = Type.Enum(['Y', 'N']);
/** Dollars as text. All sums are computed by Larkspur. */
export const money = Type.String({ pattern: '^-?[0-9]+([.][0-9]+)?$' });
export const moneyOrNull = Type.Union([money, Type.Null()]);
/** Local time at the practice. */
export const localTime = Type.String({ pattern: '^[0-9/]{10} ([01][0-9]|2[0-3]):[0-5][0-9]$' });
export const addressOneLine = Type.Object({ line1: textOrNull, city: textOrNull, state: textOrNull, zip: textOrNull });
export const addressTwoLines = Type.Object({ ...addressOneLine.properties, line2: textOrNull });

export function toFlag(value: boolean): 'Y' | 'N' {
  return value ? 'Y' : 'N';
}

/** The lines of an address have no nulls, only empty texts. */
export function nullToBlank(value: string | null | undefined): string | undefined {
  return value === null ? '' : value;
}

export function blankToNull(value: string | null): string | null {
  return value === null || value.trim() === '' ? null : value;
}

export function toStatus(activeFlag: 'Y' | 'N'): 'active' | 'inactive' {
  return activeFlag === 'Y' ? 'active' : 'inactive';
}

/** MM/DD/YYYY to YYYY-MM-DD. Returns null for a date that does not exist. */
export function isoDate(date: string | null): string | null {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(date ?? '') ?? [];
  const iso = `${year}-${month}-${day}`;
  return isDate(iso) ? iso : null;
}

/** `2026-03-08…` to `03/08/2026`. */
export function usDate(iso: string): string {
  return `${iso.slice(5, 7)}/${iso.slice(8, 10)}/${iso.slice(0, 4)}`;
}

/** Throws if the date is invalid. */
export function requiredDate(date: string): string {
  const iso = isoDate(date);
  if (iso === null) throw new EmrFailure('unavailable', unreadable_response);
  return iso;
}

/** MM/DD/YYYY HH:MM to YYYY-MM-DDTHH:MM:SS, without a zone. */
export function isoLocalTime(local: string): string {
  return `${requiredDate(local.slice(0, 10))}T${local.slice(11)}:00`;
}

/** An instant in ISO 8601, or null if it is invalid. */
export function isoInstant(moment: string | null): string | null {
  return formatInstant(Date.parse(moment ?? ''));
}

export function dollars(amount: string | null): number | null {
  return amount === null ? null : Number(amount);
}

export function toSex(code: string | null): 'male' | 'female' | 'unknown' {
  return sexes.get(code) ?? 'unknown';
}

const sexes = new Map<string | null, 'male' | 'female'>([
  ['M', 'male'],
  ['F', 'female'],
]);

export function sexCode(sex: 'male' | 'female' | 'unknown'): 'M' | 'F' | 'U' {
  return ({ male: 'M', female: 'F', unknown: 'U' } as const)[sex];
}

/** Removes undefined values. Larkspur clears a field that is sent as null. */
export function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** The interface name of a Larkspur patient field. Names not listed differ only in case style. */
export function toFieldName(name: string): string {
  return irregular_names.get(name) ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const irregular_names = new Map([
  ['birthDate', 'dob'],
  ['sexCode', 'sex'],
  ['homePhone', 'phone'],
  ['address', 'address_street'],
  ['selfPayFlag', 'self_pay'],
  ['releaseOfInfoFlag', 'release_of_info'],
  ['rxConsentFlag', 'rx_history_consent'],
  ['referringId', 'referring_provider_id'],
  ['referringFirstName', 'referring_provider_first_name'],
  ['referringLastName', 'referring_provider_last_name'],
  ['renderingProviderId', 'referred_to_provider_id'],
  ['emergencyContact', 'emergency_contact_first_name'],
  ['responsiblePartyCode', 'responsible_party'],
  ['responsibleParty', 'responsible_party_first_name'],
  ['insurances', 'insurance_name'],
  ['pharmacyIds', 'pharmacy_id'],
]);

export const unreadable_response = 'Larkspur sent an unreadable response.';
