import type { DailyTime, QuietHours } from '../../catalog/settings/alertSettings.ts';
import { parseDay } from '../../platform/time/days.ts';
import { localTimeAt, openZone } from '../../platform/time/zones.ts';

/** Whether local clocks show a time in the quiet hours. An hour that occurs twice is quiet both times. */
export function isQuiet({ from_min, to_min, timezone }: QuietHours, now: Date): boolean {
  const local = localTimeAt(now.getTime(), timezone);
  const minute = Number(local.slice(11, 13)) * 60 + Number(local.slice(14, 16));
  return from_min < to_min ? minute >= from_min && minute < to_min : minute >= from_min || minute < to_min;
}

/**
 * Today's digest in its time zone: its date, and the instant at which it is due. A time that clocks skip on that day is
 * the moment at which they do so.
 */
export function digestOf({ at_min, timezone }: DailyTime, now: Date): { date: string; due_at: Date } {
  const date = localTimeAt(now.getTime(), timezone).slice(0, 10);
  const day = parseDay(date) ?? 0;
  return { date, due_at: new Date(openZone(timezone).instantOf(day, at_min) * 60_000) };
}
