import { text } from './values.ts';

/** FHIR tells instants, the interface what the clock of the practice shows. */

/** What the clock of a zone shows at an instant, `2026-03-08T09:30:00`; null where no instant is told. */
export function wallTime(moment: unknown, timezone: string): string | null {
  const told = text(moment);
  if (told === null || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(told)) return null;
  // Without a zone it is no instant by the standard; where a server sends one all the same, the practice's is meant.
  if (!/(Z|[+-]\d\d:\d\d)$/.test(told)) return dayIn(told) && `${told.slice(0, 16)}:00`;
  const ms = Date.parse(told);
  if (Number.isNaN(ms)) return null;
  return new Date(minuteOf(ms) + offsetAt(timezone, ms)).toISOString().slice(0, 19);
}

/** The day that a date or an instant falls on. A year or a month alone is no day. */
export function dayOf(moment: unknown, timezone: string): string | null {
  const told = text(moment);
  if (told === null) return null;
  if (/^\d{4}-\d\d-\d\d$/.test(told)) return dayIn(told);
  return wallTime(told, timezone)?.slice(0, 10) ?? null;
}

/**
 * The instant at which the clock of a zone shows `2026-03-08T09:30:00`, in ISO 8601 with its offset. A time that it
 * shows twice is the first of the two, one that it skips the moment of the change: as availability reads them.
 */
export function instantAt(shown: string, timezone: string): string {
  const ms = msAt(shown, timezone);
  const offset_ms = offsetAt(timezone, ms);
  const size_min = Math.abs(offset_ms) / 60_000;
  const clock = `${two(Math.floor(size_min / 60))}:${two(size_min % 60)}`;
  return `${new Date(ms + offset_ms).toISOString().slice(0, 19)}${offset_ms < 0 ? '-' : '+'}${clock}`;
}

/** The same in milliseconds. */
export function msAt(shown: string, timezone: string): number {
  const as_utc = Date.parse(`${shown.slice(0, 16)}:00Z`);
  const [before, after] = [-day_ms, day_ms].map((step) => offsetAt(timezone, as_utc + step)) as [number, number];
  const candidates = [as_utc - before, as_utc - after].filter((ms) => offsetAt(timezone, ms) === as_utc - ms);
  if (candidates.length > 0) return Math.min(...candidates);
  return changeBetween(timezone, as_utc - Math.max(before, after), as_utc - Math.min(before, after));
}

const day_ms = 86_400_000;

/** The first day of a search and the last, with a day to spare: servers read a day in zones of their own. */
export function daysAround(from: string, to: string): string[] {
  const moved = (day: string, by_ms: number) => new Date(Date.parse(day.slice(0, 10)) + by_ms).toISOString();
  return [`ge${moved(from, -day_ms).slice(0, 10)}`, `le${moved(to, day_ms).slice(0, 10)}`];
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day.slice(0, 10)}T00:00:00Z`) + days * day_ms).toISOString().slice(0, 10);
}

/** Today by the clock of the practice. */
export function todayIn(timezone: string): string {
  const now = Date.now();
  return new Date(now + offsetAt(timezone, now)).toISOString().slice(0, 10);
}

/** JavaScript takes February 30th for March 2nd. */
function dayIn(told: string): string | null {
  const day = told.slice(0, 10);
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day) ? day : null;
}

/** The moment at which the offset of the zone changes, to the minute. */
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

/** Making one costs 50 µs, using it 2. */
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
