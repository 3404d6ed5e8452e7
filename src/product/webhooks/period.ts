import { apiError } from '../../catalog/errors.ts';
import { day_ms, isStorable, parseInstant } from '../../platform/time/days.ts';

/**
 * The start of a day or date-time in a filter, and the first instant after it. Days and date-times without a zone are in
 * UTC. A date-time lasts one millisecond, the resolution of event timestamps.
 */
export function parsePeriod(field: string, text: string): { starts: string; ends: string } {
  const [, day, time, zone] =
    /^(\d{4}-\d\d-\d\d)(?:(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+\- ]\d\d:?\d\d)?)?$/i.exec(text) ?? [];
  // In a query, `+` arrives as a space.
  const starts_ms = parseInstant(`${day}${time ?? 'T00:00'}${zone?.replace(' ', '+') ?? 'Z'}`.toUpperCase());
  const lasts_ms = time === undefined ? day_ms : 1;
  const ends_ms = (starts_ms ?? Number.NaN) + lasts_ms;
  if (starts_ms === undefined || !isStorable(starts_ms) || !isStorable(ends_ms)) {
    const rule = `${field} must be a date (YYYY-MM-DD) or an ISO 8601 date-time.`;
    throw apiError('invalid_field', { rule }, { field });
  }
  return { starts: new Date(starts_ms).toISOString(), ends: new Date(ends_ms).toISOString() };
}
