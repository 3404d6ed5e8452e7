import { text } from './values.ts';

/** Conversion between FHIR's instants and the local time of the practice. */

/** The local time in a zone at an instant: `2026-03-08T09:30:00`. Returns null if it is not an instant. */
export function wallTime(moment: unknown, timezone: string): string | null {
  const value = text(moment);
  if (value === null || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return null;
  // The standard requires a zone. If a server omits it, the time is taken as the practice's local time.
  if (!/(Z|[+-]\d\d:\d\d)$/.test(value)) return dayIn(value) && `${value.slice(0, 16)}:00`;
  const ms = Date.parse(value);
  if (Number.isNaN(ms)) return null;
  return new Date(minuteOf(ms) + offsetAt(timezone, ms)).toISOString().slice(0, 19);
}

/** The local date of a date or an instant. Returns null for a year or a month. */
export function dayOf(moment: unknown, timezone: string): string | null {
  const value = text(moment);
  if (value === null) return null;
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return dayIn(value);
  return wallTime(value, timezone)?.slice(0, 10) ?? null;
}

/**
 * The instant of a local time `2026-03-08T09:30:00`, in ISO 8601 with offset. Of an ambiguous time the first is used,
 * for a skipped time the moment of the transition, as in availability.
 */
export function instantAt(local: string, timezone: string): string {
  const ms = msAt(local, timezone);
  const offset_ms = offsetAt(timezone, ms);
  const size_min = Math.abs(offset_ms) / 60_000;
  const clock = `${two(Math.floor(size_min / 60))}:${two(size_min % 60)}`;
  return `${new Date(ms + offset_ms).toISOString().slice(0, 19)}${offset_ms < 0 ? '-' : '+'}${clock}`;
}

/** The same in milliseconds. */
export function msAt(local: string, timezone: string): number {
  const as_utc = Date.parse(`${local.slice(0, 16)}:00Z`);
  const [before, after] = [-day_ms, day_ms].map((step) => offsetAt(timezone, as_utc + step)) as [number, number];
  const candidates = [as_utc - before, as_utc - after].filter((ms) => offsetAt(timezone, ms) === as_utc - ms);
  if (candidates.length > 0) return Math.min(...candidates);
  return changeBetween(timezone, as_utc - Math.max(before, after), as_utc - Math.min(before, after));
}

const day_ms = 86_400_000;

/** Search bounds for a range of dates, with one day to spare: servers interpret dates in their own zones. */
export function daysAround(from: string, to: string): string[] {
  const moved = (day: string, by_ms: number) => new Date(Date.parse(day.slice(0, 10)) + by_ms).toISOString();
  return [`ge${moved(from, -day_ms).slice(0, 10)}`, `le${moved(to, day_ms).slice(0, 10)}`];
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day.slice(0, 10)}T00:00:00Z`) + days * day_ms).toISOString().slice(0, 10);
}

/** The current date at the practice. */
export function todayIn(timezone: string): string {
  const now = Date.now();
  return new Date(now + offsetAt(timezone, now)).toISOString().slice(0, 10);
}

/** JavaScript parses February 30 as March 2. */
function dayIn(value: string): string | null {
  const day = value.slice(0, 10);
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day) ? day : null;
}

/** The moment at which the zone's offset changes, to the minute. */
function changeBetween(timezone: string, from_ms: number, to_ms: number): number {
  const before = offsetAt(timezone, from_ms - 60_000);
  let [low, high] = [from_ms - 60_000, to_ms];
  while (high - low > 60_000) {
    const middle = minuteOf(low + (high - low) / 2);
    if (offsetAt(timezone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

function minuteOf(ms: number): number {
  return Math.floor(ms / 60_000) * 60_000;
}

/** Creating a formatter takes 50 µs, using it 2 µs. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function offsetAt(timezone: string, ms: number): number {
  const known = formatters.get(timezone);
  const formatter = known ?? new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
  if (!known) formatters.set(timezone, formatter);
  const [, sign, hours = '0', minutes = '0'] = /GMT([+-])(\d\d):(\d\d)/.exec(formatter.format(ms)) ?? [];
  const size_ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === '-' ? -size_ms : size_ms;
}

function two(part: number): string {
  return String(part).padStart(2, '0');
}
