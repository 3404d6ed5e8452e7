/** In calculations, a day is a number, counted from 1970-01-01. */
export const day_min = 24 * 60;
export const day_ms = day_min * 60_000;

/** The day of a text that starts with `YYYY-MM-DD`; undefined if there is no such date, as on February 30 or in the year 0. */
export function parseDay(text: string): number | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text.slice(0, 10));
  if (!parts || parts[1] === '0000') return undefined;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const date = new Date(0);
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const ms = date.setUTCFullYear(year, month - 1, day);
  // February 30 becomes March 2. Temporal rejects it, but takes 8 times as long, and a sync checks every date.
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? ms / day_ms : undefined;
}

/** Whether a text is a date that exists, `YYYY-MM-DD` and nothing else. */
export function isDate(text: string): boolean {
  return text.length === 10 && parseDay(text) !== undefined;
}

export function formatDay(day: number): string {
  return new Date(day * day_ms).toISOString().slice(0, 10);
}

/** `date` starts with `YYYY-MM-DD` and must exist. */
export function addDays(date: string, days: number): string {
  return formatDay(toDay(date) + days);
}

export function daysBetween(first: string, last: string): number {
  return toDay(last) - toDay(first);
}

/** 1 Monday … 7 Sunday, as in ISO 8601. */
export function toWeekday(day: number): number {
  return ((((day + 3) % 7) + 7) % 7) + 1;
}

/** Weeks begin on Monday. */
export function toWeek(day: number): number {
  return Math.floor((day + 3) / 7);
}

/** `month` counts from year 0. `nth`: 0 for the first Monday (or other weekday) of its month, 1 for the second. */
export function toMonth(day: number): { month: number; nth: number } {
  const date = new Date(day * day_ms);
  return {
    month: date.getUTCFullYear() * 12 + date.getUTCMonth(),
    nth: Math.floor((date.getUTCDate() - 1) / 7),
  };
}

/** The time of a text that has the format `date-time`, which may name a leap second. */
export function parseDateTime(text: string): Date {
  return new Date(text.replace(/:60(?=\D|$)/, ':59'));
}

/**
 * Milliseconds of an ISO 8601 date-time with `Z` or an offset (`-05:00` or `-0500`), to the minute or finer; undefined
 * for any other text.
 */
export function parseInstant(text: string): number | undefined {
  const [, local, zone, hours, minutes] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|([+-]\d\d):?(\d\d))$/.exec(text) ?? [];
  if (local === undefined) return undefined;
  // Date.parse is only specified for an offset with a colon.
  const ms = Date.parse(`${local}${hours === undefined ? zone : `${hours}:${minutes}`}`);
  return Number.isNaN(ms) || parseDay(text) === undefined ? undefined : ms;
}

/** Of the years 1 to 9999 in UTC. Others have no ISO 8601 text of the usual form, and the database does not take them. */
const [first_ms, last_ms] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];

/** Whether an instant is within the years 1 to 9999 in UTC. */
export function isStorable(ms: number): boolean {
  return ms >= first_ms && ms <= last_ms;
}

/** The nearest instant within the years 1 to 9999 in UTC: an EMR's appointment in the evening of 9999-12-31 is not. */
export function toStorable(ms: number): Date {
  return new Date(Math.min(Math.max(ms, first_ms), last_ms));
}

/** `2026-03-08T14:30:00.000Z`, or null outside of the years 1 to 9999 and for NaN. */
export function formatInstant(ms: number): string | null {
  return isStorable(ms) ? new Date(ms).toISOString() : null;
}

function toDay(date: string): number {
  const day = parseDay(date);
  if (day === undefined) throw new RangeError(`Not a date: ${date}`);
  return day;
}
