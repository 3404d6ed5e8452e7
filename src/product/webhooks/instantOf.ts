import { apiError } from '../../catalog/errors.ts';
import { day_ms, parseInstant } from '../../platform/time/days.ts';

/**
 * The start of a day or date-time in a filter, and the first instant after it. Days and date-times without a zone are in
 * UTC. A date-time lasts one millisecond, the resolution of event timestamps.
 */
export function instantOf(field: string, text: string): { starts: string; ends: string } {
  const [, day, time, zone] =
    /^(\d{4}-\d\d-\d\d)(?:(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+\- ]\d\d:?\d\d)?)?$/i.exec(text) ?? [];
  // In a query, `+` arrives as a space.
  const starts_ms = parseInstant(`${day}${time ?? 'T00:00'}${zone?.replace(' ', '+') ?? 'Z'}`.toUpperCase());
  if (starts_ms === undefined) {
    const rule = `${field} must be a date (YYYY-MM-DD) or an ISO 8601 date-time.`;
    throw apiError('invalid_field', { rule }, { field });
  }
  const lasts_ms = time === undefined ? day_ms : 1;
  return { starts: new Date(starts_ms).toISOString(), ends: new Date(starts_ms + lasts_ms).toISOString() };
}
