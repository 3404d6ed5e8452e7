import { addDays, isDate, parseInstant } from '../../platform/time/days.ts';
import { localTimeAt, withOffset } from '../../platform/time/zones.ts';
import { text } from './values.ts';

/** FHIR uses instants; the interface uses the practice's local time. */

/** The local time at an instant, `2026-03-08T09:30:00`; null if the value is not an instant. */
export function wallTime(moment: unknown, timezone: string): string | null {
  const value = text(moment);
  if (value === null || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return null;
  // The standard requires an offset. If a server leaves it out, the time is taken as local.
  if (!/(Z|[+-]\d\d:?\d\d)$/.test(value)) return isDate(value.slice(0, 10)) ? `${value.slice(0, 16)}:00` : null;
  const ms = parseInstant(value);
  return ms === undefined ? null : localTimeAt(ms, timezone);
}

/** The local time with its offset, which tells apart the two passes of an hour when clocks go back. */
export function offsetTime(moment: unknown, timezone: string): string | null {
  const local = wallTime(moment, timezone);
  const value = text(moment);
  return local === null || value === null || parseInstant(value) === undefined ? local : withOffset(value, timezone);
}

/** The day of a date or an instant; null for a year or month alone. */
export function dayOf(moment: unknown, timezone: string): string | null {
  const value = text(moment);
  if (value === null) return null;
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return isDate(value) ? value : null;
  return wallTime(value, timezone)?.slice(0, 10) ?? null;
}

/** The range of days to search, with one day to spare on either side: servers use time zones of their own. */
export function daysAround(from: string, to: string): string[] {
  return [`ge${addDays(from, -1)}`, `le${addDays(to, 1)}`];
}
