import { dayOf } from '../availability/days.ts';
import { openZone } from '../availability/zone.ts';

/**
 * What the clock of a zone shows (`2026-03-08T01:00:00`) as an instant with its offset, by the same rules as
 * availability: a time that the clock shows twice is the first of the two, one that it skips the moment of the change.
 */
export function withOffset(shown: string, timezone: string): string {
  const day = dayOf(shown);
  if (day === undefined) throw new RangeError('The clock shows no such day.');
  const zone = openZone(timezone, day, day);
  return zone.iso(zone.firstShowing(day, Number(shown.slice(11, 13)) * 60 + Number(shown.slice(14, 16))));
}
