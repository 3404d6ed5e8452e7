import { weekdays } from '../../../service/api.gen.ts';
import type { Hours } from '../../../service/types.ts';

type Shift = Hours[number]['shifts'][number];
export type Weekday = (typeof weekdays)[number];

/**
 * Input values: times are `HH:MM`, dates `YYYY-MM-DD`, and missing values empty. An end of `00:00` is the end of the day:
 * time inputs have no 24:00.
 */
export type DraftQuota = { key: string; start_time: string; end_time: string; visit_type_id: string; visits: string };
export type DraftRange = {
  key: string;
  start: string;
  end: string;
  facility_id: string;
  description: string;
  first_day: string;
  last_day: string;
  /** Empty means every week. */
  every_unit: '' | 'days' | 'weeks' | 'months' | 'years';
  every: string;
  every_from: string;
  every_until: string;
  quotas: DraftQuota[];
  /** The shift from the API: values that are not edited are sent back unchanged. */
  original: Shift | undefined;
};
export type DraftWeek = Record<Weekday, DraftRange[]>;

/** The hours as they are edited. */
export function toDraft(hours: Hours): DraftWeek {
  const of = (day: Weekday) => hours.filter((each) => each.day === day).flatMap(({ shifts }) => shifts);
  return toWeek((day) => of(day).map(draftRange));
}

export function newRange(start = '', end = '', facility_id = ''): DraftRange {
  return {
    key: newKey(),
    start,
    end,
    facility_id,
    description: '',
    first_day: '',
    last_day: '',
    every_unit: '',
    every: '1',
    every_from: '',
    every_until: '',
    quotas: [],
    original: undefined,
  };
}

export function newQuota(start_time: string, end_time: string, visit_type_id: string): DraftQuota {
  return { key: newKey(), start_time, end_time, visit_type_id, visits: '1' };
}

/** The hours as they are sent: only working days. */
export function toHours(week: DraftWeek): Hours {
  return workingDays(week).map((day) => ({ day, shifts: week[day].map(toShift) }));
}

/** The working days in the order of `toHours`, to which the indexes in error messages refer. */
export function workingDays(week: DraftWeek): Weekday[] {
  return weekdays.filter((day) => week[day].length > 0);
}

export function isSame(week: DraftWeek, hours: Hours): boolean {
  return JSON.stringify(toHours(week)) === JSON.stringify(toHours(toDraft(hours)));
}

/** The time at which a range ends, `24:00` for the end of the day. Compares with other times. */
export function endTime(input: string): string {
  return input === '00:00' ? '24:00' : input;
}

function toWeek(ranges: (day: Weekday) => DraftRange[]): DraftWeek {
  return {
    Monday: ranges('Monday'),
    Tuesday: ranges('Tuesday'),
    Wednesday: ranges('Wednesday'),
    Thursday: ranges('Thursday'),
    Friday: ranges('Friday'),
    Saturday: ranges('Saturday'),
    Sunday: ranges('Sunday'),
  };
}

let keys = 0;
function newKey(): string {
  keys += 1;
  return `range-${keys}`;
}

function draftRange(shift: Shift): DraftRange {
  const { recurrence } = shift;
  return {
    ...newRange(clock(shift.start), endInput(shift.end), shift.facility_id ?? ''),
    description: shift.set_description ?? '',
    first_day: date(shift.set_start_date),
    last_day: date(shift.set_end_date),
    every_unit: recurrence ? toUnit(recurrence.recur_interval_type) : '',
    every: String(recurrence?.recur_interval_amount ?? 1),
    every_from: date(recurrence?.rec_start_date),
    every_until: date(recurrence?.rec_end_date),
    quotas: (shift.visit_type_rules ?? []).map((rule) => ({
      ...newQuota(clock(rule.start_time), endInput(rule.end_time), rule.visit_type_id),
      visits: String(rule.total_visits),
    })),
    original: shift,
  };
}

function toShift(range: DraftRange): Shift {
  const { original } = range;
  const recurrence = original?.recurrence;
  const findDescription = (visit_type_id: string) =>
    original?.visit_type_rules?.find((rule) => rule.visit_type_id === visit_type_id)?.visit_type_desc ?? '';
  return {
    start: `T${withSeconds(range.start, original?.start)}`,
    end: original && endInput(original.end) === range.end ? original.end : `T${endTime(range.end)}:00`,
    ...optional('facility_id', range.facility_id),
    ...optional('set_start_date', unchanged(range.first_day, original?.set_start_date)),
    ...optional('set_end_date', unchanged(range.last_day, original?.set_end_date)),
    ...optional('set_description', range.description),
    ...(range.every_unit !== '' && {
      recurrence: {
        rec_start_date: unchanged(range.every_from, recurrence?.rec_start_date),
        ...optional('rec_end_date', unchanged(range.every_until, recurrence?.rec_end_date)),
        recur_interval_type: range.every_unit,
        recur_interval_amount: Number(range.every),
        recur_interval_description: `Every ${Number(range.every) === 1 ? '' : `${range.every} `}${range.every_unit}`,
      },
    }),
    ...(range.quotas.length > 0 && {
      visit_type_rules: range.quotas.map((quota) => ({
        start_time: withSeconds(quota.start_time),
        end_time: withSeconds(endTime(quota.end_time)),
        total_visits: Number(quota.visits),
        visit_type_id: quota.visit_type_id,
        visit_type_desc: findDescription(quota.visit_type_id),
      })),
    }),
  };
}

function optional<Name extends string>(name: Name, value: string): Partial<Record<Name, string>> {
  return (value === '' ? {} : { [name]: value }) as Partial<Record<Name, string>>;
}

/** `T09:00:00` or `09:00:00` as the value of an input. */
function clock(time: string): string {
  return /(\d\d:\d\d)/.exec(time)?.[1] ?? '';
}

/** 23:59:59 is the end of the day too. */
function endInput(time: string): string {
  return /(24:00:00|23:59:59)$/.test(time) ? '00:00' : clock(time);
}

function withSeconds(time: string, before = ''): string {
  return clock(before) === time && /:\d\d:\d\d$/.test(before) ? before.replace(/^T/, '') : `${time}:00`;
}

function date(timestamp: string | undefined): string {
  return timestamp?.slice(0, 10) ?? '';
}

function unchanged(day: string, before: string | undefined): string {
  return before !== undefined && date(before) === day ? before : day;
}

function toUnit(type: string): DraftRange['every_unit'] {
  const unit = `${type.toLowerCase().replace(/s$/, '')}s`;
  return unit === 'days' || unit === 'months' || unit === 'years' ? unit : 'weeks';
}
