import { day_min, parseDay, toMonth, toWeek, toWeekday } from '../../../platform/time/days.ts';
import type { Zone } from '../../../platform/time/zones.ts';
import { type Hours, type HoursShift, type Range, type Reason, union } from './types.ts';

export type Rule = { start: number; end: number; visit_type: string; visits_max: number };

/** A parsed shift: minutes of the day and day numbers. `end <= start` if it covers no whole minute. */
export type Shift = {
  start: number;
  end: number;
  first_day: number;
  last_day: number;
  recursOn: (day: number) => boolean;
  rules: readonly Rule[];
  /** A shift with a fault is never available. */
  fault: 'times' | 'dates' | undefined;
};

/** The shifts of one weekday at one facility. */
export type FacilityShifts = { facility_id: string | null; facility_name: string | null; shifts: Shift[] };

const names = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** By weekday (1 Monday … 7 Sunday), in the order of facility ids; shifts without a facility come first. */
export function parseWeek(hours: Hours): Map<number, FacilityShifts[]> {
  const week = new Map<number, Map<string | null, FacilityShifts>>();
  for (const { day, shifts } of hours) {
    const weekday = names.indexOf(day.toLowerCase()) + 1;
    if (weekday === 0) continue;
    for (const shift of shifts) {
      const facilities = week.get(weekday) ?? new Map<string | null, FacilityShifts>();
      const facility_id = shift.facility_id ?? null;
      const facility_name = shift.facility_name ?? null;
      const facility = facilities.get(facility_id) ?? { facility_id, facility_name, shifts: [] };
      facility.shifts.push(parseShift(shift, weekday));
      week.set(weekday, facilities.set(facility_id, facility));
    }
  }
  return new Map([...week].map(([weekday, facilities]) => [weekday, [...facilities.values()].sort(byFacility)]));
}

export function hasHours(hours: Hours): boolean {
  return hours.some(({ shifts }) => shifts.length > 0);
}

function parseShift(shift: HoursShift, weekday: number): Shift {
  const times = parseTimes(shift.start, shift.end);
  const first_day = shift.set_start_date ? parseDay(shift.set_start_date) : Number.NEGATIVE_INFINITY;
  const last_day = shift.set_end_date ? parseDay(shift.set_end_date) : Number.POSITIVE_INFINITY;
  const recursOn = shift.recurrence ? parseRecurrence(shift.recurrence, weekday) : () => true;
  const dates_ok = first_day !== undefined && last_day !== undefined && recursOn !== undefined;
  return {
    ...(times ?? { start: 0, end: day_min }),
    first_day: first_day ?? 0,
    last_day: last_day ?? 0,
    recursOn: recursOn ?? (() => false),
    rules: (shift.visit_type_rules ?? []).flatMap((rule) => {
      const range = parseTimes(rule.start_time, rule.end_time);
      return range?.ordered ? [{ ...range, visit_type: rule.visit_type_id, visits_max: rule.total_visits }] : [];
    }),
    fault: times?.ordered ? (dates_ok ? undefined : 'dates') : 'times',
  };
}

/** Whole minutes between the two times, rounded inward. An end at 23:59:59 is the end of the day. */
function parseTimes(start: string, end: string): { start: number; end: number; ordered: boolean } | undefined {
  const from = parseSeconds(start);
  const to = parseSeconds(end);
  if (from === undefined || to === undefined) return undefined;
  const end_min = to === last_second ? day_min : Math.floor(to / 60);
  return { start: Math.ceil(from / 60), end: end_min, ordered: from < to };
}

const last_second = day_min * 60 - 1;

/** `THH:MM:SS`, `HH:MM:SS` or `HH:MM`, from 00:00:00 to 24:00:00. */
function parseSeconds(time: string): number | undefined {
  const [, hours, minutes, seconds = '00'] = /^T?(\d\d):([0-5]\d)(?::([0-5]\d))?$/.exec(time) ?? [];
  const total = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return total <= day_min * 60 ? total : undefined;
}

/**
 * Whether a shift of this weekday recurs on a day; undefined if the recurrence cannot be parsed. Only called for days of
 * the shift's own weekday.
 *
 * - n days: `rec_start_date` + 0, n, 2n, … days.
 * - n weeks: the week of `rec_start_date` (Monday to Sunday) and every n-th week after it.
 * - n months: the first such weekday on or after `rec_start_date` is, say, the second Tuesday of its month. The shift
 *   recurs on the second Tuesday of every n-th month. A fifth Tuesday is skipped in months with four. (The same day of
 *   the month would fall on the shift's weekday only about twice a year.)
 * - n years: the same as 12 n months.
 */
function parseRecurrence(
  recurrence: NonNullable<HoursShift['recurrence']>,
  weekday: number,
): ((day: number) => boolean) | undefined {
  const first = parseDay(recurrence.rec_start_date);
  const last = recurrence.rec_end_date ? parseDay(recurrence.rec_end_date) : Number.POSITIVE_INFINITY;
  const every = recurrence.recur_interval_amount;
  if (first === undefined || last === undefined || !Number.isInteger(every) || every < 1) return undefined;
  const within = (day: number) => day >= first && day <= last;
  const unit = (recurrence.recur_interval_type || 'weeks').toLowerCase().replace(/s$/, '');
  switch (unit) {
    case 'day':
      return (day) => within(day) && (day - first) % every === 0;
    case 'week':
      return (day) => within(day) && (toWeek(day) - toWeek(first)) % every === 0;
    case 'month':
    case 'year': {
      const months = unit === 'year' ? 12 * every : every;
      const anchor = toMonth(first + ((weekday - toWeekday(first) + 7) % 7));
      return (day) => {
        const { month, nth } = toMonth(day);
        return within(day) && nth === anchor.nth && (month - anchor.month) % months === 0;
      };
    }
    default:
      return undefined;
  }
}

function byFacility(a: FacilityShifts, b: FacilityShifts): number {
  const [left, right] = [a.facility_id ?? '', b.facility_id ?? ''];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A range that is not free, and why. With the rule's visit type, if a rule is the reason. */
export type Exclusion = readonly [reason: Reason, range: Range, visit_type?: string];

/** Working time at one facility on one day. */
export type WorkingTime = {
  working: Range[];
  /** `worked` is the part of the rule that lies in its shift. */
  rules: { rule: Rule; range: Range; worked: Range }[];
  /** Shifts that are not worked on this day. */
  off: Exclusion[];
  /** Shifts whose times are invalid; such a range may end before it starts. */
  invalid: Range[];
};

export function workingTimeOn(
  facility: FacilityShifts,
  day: number,
  zone: Zone,
  options: { with_rules: boolean },
): WorkingTime {
  const time: WorkingTime = { working: [], rules: [], off: [], invalid: [] };
  const toRange = (start: number, end: number): Range => [zone.instantAt(day, start), zone.instantAt(day, end)];
  for (const shift of facility.shifts) {
    const range = toRange(shift.start, shift.end);
    const reason = offReason(shift, day);
    if (shift.fault === 'times') time.invalid.push(range);
    else if (reason) time.off.push([reason, range]);
    else {
      time.working.push(range);
      for (const rule of options.with_rules ? shift.rules : []) {
        const [start, end] = toRange(rule.start, rule.end);
        time.rules.push({ rule, range: [start, end], worked: [Math.max(range[0], start), Math.min(range[1], end)] });
      }
    }
  }
  time.working = union(time.working);
  return time;
}

function offReason(shift: Shift, day: number): Reason | undefined {
  if (shift.fault) return 'invalid_shift';
  if (day < shift.first_day || day > shift.last_day) return 'outside_dates';
  return shift.recursOn(day) ? undefined : 'recurrence';
}
