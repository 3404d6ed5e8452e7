import { day_min, dayOf } from './days.ts';
import type { Hours, HoursShift } from './question.ts';
import { readRecurrence } from './readRecurrence.ts';

export type Rule = { start: number; end: number; visit_type: string; visits_max: number };

/** A shift as the engine counts: minutes of the day, day numbers. `end <= start` when no whole minute is worked. */
export type Shift = {
  start: number;
  end: number;
  first_day: number;
  last_day: number;
  recursOn: (day: number) => boolean;
  rules: readonly Rule[];
  /** Set when the shift cannot be worked by: it is never offered. */
  fault: 'times' | 'dates' | undefined;
};

/** The shifts of one weekday at one facility. */
export type Place = { facility_id: string | null; facility_name: string | null; shifts: Shift[] };

const names = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** By weekday (1 Monday … 7 Sunday) the places worked at, in the order of their ids, none before all. */
export function readWeek(hours: Hours): Map<number, Place[]> {
  const week = new Map<number, Map<string | null, Place>>();
  for (const { day, shifts } of hours) {
    const weekday = names.indexOf(day.toLowerCase()) + 1;
    if (weekday === 0) continue;
    for (const shift of shifts) {
      const places = week.get(weekday) ?? new Map<string | null, Place>();
      const facility_id = shift.facility_id ?? null;
      const place = places.get(facility_id) ?? { facility_id, facility_name: shift.facility_name ?? null, shifts: [] };
      place.shifts.push(readShift(shift, weekday));
      week.set(weekday, places.set(facility_id, place));
    }
  }
  return new Map([...week].map(([weekday, places]) => [weekday, [...places.values()].sort(byFacility)]));
}

export function hasHours(hours: Hours): boolean {
  return hours.some(({ shifts }) => shifts.length > 0);
}

function readShift(shift: HoursShift, weekday: number): Shift {
  const times = readTimes(shift.start, shift.end);
  const first_day = shift.set_start_date ? dayOf(shift.set_start_date) : Number.NEGATIVE_INFINITY;
  const last_day = shift.set_end_date ? dayOf(shift.set_end_date) : Number.POSITIVE_INFINITY;
  const recursOn = shift.recurrence ? readRecurrence(shift.recurrence, weekday) : () => true;
  const dates_ok = first_day !== undefined && last_day !== undefined && recursOn !== undefined;
  return {
    ...(times ?? { start: 0, end: day_min }),
    first_day: first_day ?? 0,
    last_day: last_day ?? 0,
    recursOn: recursOn ?? (() => false),
    rules: (shift.visit_type_rules ?? []).flatMap((rule) => {
      const range = readTimes(rule.start_time, rule.end_time);
      return range?.ordered ? [{ ...range, visit_type: rule.visit_type_id, visits_max: rule.total_visits }] : [];
    }),
    fault: times?.ordered ? (dates_ok ? undefined : 'dates') : 'times',
  };
}

/** Whole minutes inside the two times: what is offered must be worked to the last second. */
function readTimes(start: string, end: string): { start: number; end: number; ordered: boolean } | undefined {
  const from = secondsOf(start);
  const to = secondsOf(end);
  if (from === undefined || to === undefined) return undefined;
  return { start: Math.ceil(from / 60), end: Math.floor(to / 60), ordered: from < to };
}

/** `THH:MM:SS`, `HH:MM:SS` or `HH:MM`, from 00:00:00 to 24:00:00. */
function secondsOf(time: string): number | undefined {
  const [, hours, minutes, seconds = '00'] = /^T?(\d\d):([0-5]\d)(?::([0-5]\d))?$/.exec(time) ?? [];
  const total = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return total <= day_min * 60 ? total : undefined;
}

function byFacility(a: Place, b: Place): number {
  const [left, right] = [a.facility_id ?? '', b.facility_id ?? ''];
  return left < right ? -1 : left > right ? 1 : 0;
}
