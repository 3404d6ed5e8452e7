import { Type } from 'typebox';

/** Larkspur's way of writing values, and ours. */
export const id = Type.String({ minLength: 1 });
export const text = Type.String();
export const textOrNull = Type.Union([Type.String(), Type.Null()]);
export const flag = Type.Enum(['Y', 'N']);

export function blankToNull(value: string | null): string | null {
  return value === null || value.trim() === '' ? null : value;
}

export function activity(activeFlag: 'Y' | 'N'): 'active' | 'inactive' {
  return activeFlag === 'Y' ? 'active' : 'inactive';
}

/** MM/DD/YYYY to YYYY-MM-DD; what is no day of the calendar is null. */
export function isoDate(date: string | null): string | null {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(date ?? '') ?? [];
  const iso = `${year}-${month}-${day}`;
  const parsed = new Date(`${iso}T00:00:00Z`);
  // JavaScript takes February 30th for March 1st or 2nd.
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(iso) ? iso : null;
}
