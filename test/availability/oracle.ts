import type {
  Appointment,
  AvailabilityInput,
  Block,
  Explanation,
  FreeRange,
  HoursShift,
} from '../../src/product/records/availability/types.ts';
import { isoAt, type Minute, minute_ms, minutesOfDay, plusDays, startOfDay, weekdayName } from './oracleClock.ts';

/** A slow second implementation, which checks each minute by itself. It shares types with the first, but no code. */
export type OracleRange = Omit<FreeRange, 'duration_string' | 'provider_name' | 'facility_name' | 'timezone_abbr'>;
export type OracleResult = { free: OracleRange[]; explanations: Explanation[] };

/** Instants as numbers: reading them again for each minute took most of the time. */
type Timed<T extends Appointment | Block> = T & { start: number };
type OracleInput = Omit<AvailabilityInput, 'appointments' | 'blocks' | 'not_before'> & {
  appointments: Timed<Appointment>[];
  blocks: Timed<Block>[];
  not_before: number;
};
type ShiftToday = { shift: HoursShift; on: boolean[]; why_not: string | undefined };
/** One provider at one facility on one day. */
type FacilityDay = {
  input: OracleInput;
  date: string;
  minutes: Minute[];
  shifts: ShiftToday[];
  appointments: Timed<Appointment>[];
  blocks: Timed<Block>[];
  /** Those in the role that the limits count. */
  counted: Timed<Appointment>[];
  excluded: 'location' | 'inactive_location' | 'daily_limit' | undefined;
  rules: RuleToday[];
};
type RuleToday = {
  visit_type: string;
  visits_max: number;
  inside: boolean[];
  on: boolean[];
  visits: Timed<Appointment>[];
};
type Run = { first: number; length: number; visit_type: string; left: number | null; visits_max: number | null };

const week = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

export function oracleAvailability(sent: AvailabilityInput): OracleResult {
  const input: OracleInput = {
    ...sent,
    appointments: sent.appointments.map(timed),
    blocks: sent.blocks.map(timed),
    not_before: sent.not_before === undefined ? Number.NEGATIVE_INFINITY : new Date(sent.not_before).getTime(),
  };
  const result: OracleResult = { free: [], explanations: [] };
  for (let date = input.start_date; date <= input.end_date; date = plusDays(date, 1)) {
    for (const provider of input.providers) addDay(input, provider, date, result);
  }
  return result;
}

function timed<T extends Appointment | Block>(entry: T): Timed<T> {
  return { ...entry, start: new Date(entry.starts_at).getTime() };
}

function addDay(
  input: OracleInput,
  provider: AvailabilityInput['providers'][number],
  date: string,
  result: OracleResult,
) {
  const { options, timezone } = input;
  const minutes = minutesOfDay(timezone, date);
  /** A reason of a rule is followed by its visit type: `quota_full OV`. */
  const addExplanation = (facility_id: string | null, from: number, to: number, why: string) => {
    const [range_start, range_end] = [isoAt(timezone, from), isoAt(timezone, to)];
    const [reason, visit_type = null] = why.split(' ');
    const typed_reason = reason as Explanation['reason'];
    result.explanations.push({
      provider_id: provider.ehr_id,
      facility_id,
      date,
      range_start,
      range_end,
      reason: typed_reason,
      visit_type,
    });
  };
  const next_day = startOfDay(timezone, plusDays(date, 1));
  for (const { start, end } of skippedTimes(timezone, date, minutes)) {
    const skipped = { range_start: start, range_end: end, reason: 'clock_change', visit_type: null } as const;
    result.explanations.push({ provider_id: provider.ehr_id, facility_id: null, date, ...skipped });
  }
  if (provider.unavailable) return addExplanation(null, startOfDay(timezone, date), next_day, provider.unavailable);
  const own = provider.hours.some((day) => day.shifts.length > 0);
  const hours = own ? provider.hours : options.fallback_hours;
  if (!hours) return addExplanation(null, startOfDay(timezone, date), next_day, 'no_hours');

  const shifts = hours.filter((day) => day.day === weekdayName(date)).flatMap((day) => day.shifts);
  const own_appointments = input.appointments.filter(
    (each) =>
      !each.cancelled && [each.provider_ehr_id, each.secondary_provider_ehr_id].some((id) => id === provider.ehr_id),
  );
  const counted = own_appointments.filter((each) => countsFor(each, input) === provider.ehr_id);
  const limited = counted.filter(
    (each) => options.daily_limit_type === 'all' || options.daily_limit_type === each.visit_type,
  );
  const today = limited.filter((each) => minutes.some((minute) => startsIn(each, minute)));
  const full = options.daily_appointment_limit !== undefined && today.length >= options.daily_appointment_limit;

  const covered = new Set<number>();
  for (const facility of new Set(shifts.map((shift) => shift.facility_id ?? null))) {
    const here = shifts.filter((shift) => (shift.facility_id ?? null) === facility);
    for (const { start, end } of here.filter((shift) => shift.end <= shift.start)) {
      const from = minutes.find(({ local_s }) => local_s >= `${date} ${start.slice(1)}`)?.ms ?? next_day;
      const to = minutes.find(({ local }) => local >= `${date} ${lastMinute(end)}`)?.ms ?? next_day;
      addExplanation(facility, from, to, 'invalid_shift');
      minutes.forEach(({ ms }, index) => {
        if (ms >= from && ms < to) covered.add(index);
      });
    }
    const counts = (each: Appointment | Block) =>
      !options.facility_scoped_scheduling || [facility, null].includes(each.facility_ehr_id) || facility === null;
    const inactive = facility !== null && input.inactive_facilities?.has(facility);
    const away = options.location_ids !== undefined && !options.location_ids.some((id) => id === facility);
    const day: FacilityDay = {
      input,
      date,
      minutes,
      shifts: here
        .filter((shift) => shift.start < shift.end)
        .map((shift) => ({ shift, on: between(minutes, date, shift.start, shift.end), why_not: whyNot(shift, date) })),
      appointments: own_appointments.filter(counts),
      blocks: input.blocks.filter((block) => block.provider_ehr_id === provider.ehr_id && counts(block)),
      counted,
      excluded: away ? 'location' : inactive ? 'inactive_location' : full ? 'daily_limit' : undefined,
      rules: [],
    };
    day.rules = rulesToday(day);
    const runs = findRuns(day);
    for (const { first, length, visit_type, left, visits_max } of runs) {
      const from = minutes[first]?.ms ?? Number.NaN;
      result.free.push({
        day_of_week: week.indexOf(weekdayName(date)) + 1,
        date,
        range_start: isoAt(timezone, from),
        range_end: isoAt(timezone, from + length * minute_ms),
        provider_id: provider.ehr_id,
        facility_id: facility,
        visit_type,
        available_appointments: left,
        max_visits: visits_max,
      });
    }
    const free = new Set(runs.flatMap(({ first, length }) => Array.from({ length }, (_, index) => first + index)));
    for (const index of free) covered.add(index);
    const reasons = minutes.map((minute, index) => (free.has(index) ? undefined : reasonAt(day, minute, index)));
    for (let first = 0, index = 1; index <= reasons.length; index++) {
      if (index < reasons.length && reasons[index] === reasons[first]) continue;
      const [reason, from] = [reasons[first], minutes[first]?.ms ?? Number.NaN];
      if (reason !== undefined) {
        addExplanation(facility, from, from + (index - first) * minute_ms, reason);
        for (let minute = first; minute < index; minute++) covered.add(minute);
      }
      first = index;
    }
  }
  addRuns(
    minutes.map((_, index) => !covered.has(index)),
    (first, length) => {
      const from = minutes[first]?.ms ?? Number.NaN;
      addExplanation(null, from, from + length * minute_ms, 'outside_hours');
    },
  );
}

/** The local times that no minute of the day shows, if clocks go forward by less than a day. */
function skippedTimes(timezone: string, date: string, minutes: Minute[]): Skipped[] {
  const key = `${timezone} ${date}`;
  const cached = skipped_times.get(key);
  if (cached) return cached;
  const skipped = minutes.flatMap(({ ms }) => {
    const [before, after] = [isoAt(timezone, ms - minute_ms), isoAt(timezone, ms)];
    if (before.slice(19) === after.slice(19)) return [];
    const wall = (iso: string) => Date.parse(`${iso.slice(0, 19)}Z`);
    const skipped_ms = wall(after) - wall(before) - minute_ms;
    if (skipped_ms <= 0 || skipped_ms >= 24 * 60 * minute_ms) return [];
    const start = new Date(wall(before) + minute_ms).toISOString().slice(0, 19);
    return [{ start: `${start}${before.slice(19)}`, end: after }];
  });
  skipped_times.set(key, skipped);
  return skipped;
}

type Skipped = { start: string; end: string };
const skipped_times = new Map<string, Skipped[]>();

function addRuns(marked: boolean[], add: (first: number, length: number) => void): void {
  for (let first = 0; first < marked.length; first++) {
    let length = 0;
    while (marked[first + length]) length++;
    if (length > 0) add(first, length);
    first += length;
  }
}

/** The runs of free minutes. */
function findRuns(day: FacilityDay): Run[] {
  const { options } = day.input;
  if (day.excluded) return [];
  if (options.calculation_method !== 'slots') {
    const open = day.minutes.map((each, index) => works(day, index) && isUntaken(day, each, day.appointments));
    return cutOpen(day, open).map((run) => ({ ...run, visit_type: options.visit_type, left: null, visits_max: null }));
  }
  return day.rules.flatMap(({ visit_type, visits_max, inside, on, visits }) => {
    if (visits.length >= visits_max || ![visit_type, 'all'].includes(options.visit_type)) return [];
    const others = day.appointments.filter((each) => !visits.includes(each));
    const open = day.minutes.map((each, index) => inside[index] && on[index] && isUntaken(day, each, others));
    return cutOpen(day, open).map((run) => ({ ...run, visit_type, left: visits_max - visits.length, visits_max }));
  });
}

/** Slots do not depend on the present time: one that has partly passed is dropped, a longer range begins later. */
function cutOpen(day: FacilityDay, open: (boolean | undefined)[]): { first: number; length: number }[] {
  const { options } = day.input;
  const longest = options.max_slot_duration ?? Number.POSITIVE_INFINITY;
  const runs: { first: number; length: number }[] = [];
  open.forEach((is_open, index) => {
    const last = runs.at(-1);
    if (is_open && last && last.first + last.length === index && last.length < longest) last.length++;
    else if (is_open) runs.push({ first: index, length: 1 });
  });
  const isOver = (index: number) => isPast(day, day.minutes[index] ?? { ms: Number.NaN, local: '', local_s: '' });
  if (options.calculation_method === 'equal_slots') {
    return runs.filter((run) => run.length === longest && !isOver(run.first));
  }
  for (const run of runs) {
    while (run.length > 0 && isOver(run.first)) [run.first, run.length] = [run.first + 1, run.length - 1];
  }
  return runs.filter(({ length }) => length > 0);
}

function rulesToday({ shifts, minutes, date, appointments, counted }: FacilityDay): RuleToday[] {
  return shifts.flatMap(({ shift, on, why_not }) =>
    (why_not ? [] : (shift.visit_type_rules ?? [])).map((rule) => {
      const inside = between(minutes, date, `T${rule.start_time}`, `T${rule.end_time}`);
      const visits = appointments.filter(
        (each) =>
          counted.includes(each) &&
          each.visit_type === rule.visit_type_id &&
          minutes.some((minute, index) => inside[index] && startsIn(each, minute)),
      );
      return { visit_type: rule.visit_type_id, visits_max: rule.total_visits, inside, on, visits };
    }),
  );
}

function works({ shifts }: FacilityDay, index: number): boolean {
  return shifts.some(({ on, why_not }) => on[index] && !why_not);
}

function isUntaken(day: FacilityDay, minute: Minute, appointments: Timed<Appointment>[]): boolean {
  return (
    !appointments.some((each) => takes(each, minute)) &&
    !day.blocks.some((each) => takes(each, minute)) &&
    !day.appointments.some((each) => keepsFree(each, minute, day.input))
  );
}

function isPast({ input: { not_before } }: FacilityDay, { ms }: Minute): boolean {
  return ms < not_before;
}

/** Why a minute is not free; undefined if it is in no shift. */
function reasonAt(day: FacilityDay, minute: Minute, index: number): string | undefined {
  const { shifts, input, appointments, blocks, excluded } = day;
  if (!works(day, index)) {
    const whys = shifts.filter(({ on }) => on[index]).map(({ why_not }) => why_not);
    return ['outside_dates', 'recurrence', 'invalid_shift'].find((why) => whys.includes(why));
  }
  if (excluded) return excluded;
  if (isPast(day, minute)) return 'past';
  const taking = appointments.filter((each) => takes(each, minute));
  if (taking.some(({ pending }) => !pending)) return 'appointment';
  if (taking.length > 0) return 'booking';
  if (blocks.some((each) => takes(each, minute))) return 'block';
  if (appointments.some((each) => keepsFree(each, minute, input))) return 'buffer';
  if (input.options.calculation_method !== 'slots') return 'too_short';
  const rules = day.rules.filter(({ inside, on }) => inside[index] && on[index]);
  const requested = rules.filter(({ visit_type }) => [visit_type, 'all'].includes(input.options.visit_type));
  const first = (among: RuleToday[]) => among.map(({ visit_type }) => visit_type).sort()[0];
  if (requested.length > 0) return `quota_full ${first(requested)}`;
  return rules.length > 0 ? `visit_type ${first(rules)}` : 'no_rule';
}

/** Which minutes are after the clock first showed `start` and before it first showed the minute of `end`. */
function between(minutes: Minute[], date: string, start: string, end: string): boolean[] {
  const [from, to] = [`${date} ${start.slice(1)}`, `${date} ${lastMinute(end)}`];
  let [started, finished] = [false, false];
  return minutes.map(({ local, local_s }) => {
    started ||= local_s >= from;
    finished ||= local >= to;
    return started && !finished;
  });
}

/** The minute that ends a shift. None is shown as 24:00, so a shift until then lasts until the day ends. */
function lastMinute(end: string): string {
  return end === 'T23:59:59' ? '24:00' : end.slice(1, 6);
}

function whyNot(shift: HoursShift, date: string): string | undefined {
  const rec = shift.recurrence;
  const type = rec?.recur_interval_type || 'weeks';
  if (rec && (rec.recur_interval_amount < 1 || !/^(day|week|month|year)s?$/i.test(type))) return 'invalid_shift';
  if (shift.set_start_date && date < shift.set_start_date.slice(0, 10)) return 'outside_dates';
  if (shift.set_end_date && date > shift.set_end_date.slice(0, 10)) return 'outside_dates';
  if (!rec) return undefined;
  const start = rec.rec_start_date.slice(0, 10);
  if (date < start || (rec.rec_end_date && date > rec.rec_end_date.slice(0, 10))) return 'recurrence';
  return seriesHas(date, start, type.toLowerCase(), rec.recur_interval_amount) ? undefined : 'recurrence';
}

/** Follows the series from its start until it reaches or passes the date. */
function seriesHas(date: string, start: string, type: string, every: number): boolean {
  if (type.startsWith('day')) {
    let at = start;
    while (at < date) at = plusDays(at, every);
    return at === date;
  }
  if (type.startsWith('week')) {
    let monday = start;
    while (weekdayName(monday) !== 'Monday') monday = plusDays(monday, -1);
    while (plusDays(monday, 7) <= date) monday = plusDays(monday, 7 * every);
    return monday <= date;
  }
  let first = start;
  while (weekdayName(first) !== weekdayName(date)) first = plusDays(first, 1);
  let months = 0;
  for (let at = first.slice(0, 7); at < date.slice(0, 7); months++) at = plusDays(`${at}-28`, 4).slice(0, 7);
  return months % (type.startsWith('year') ? 12 * every : every) === 0 && nthInMonth(first) === nthInMonth(date);
}

/** 1 for the first Tuesday of its month. */
function nthInMonth(date: string): number {
  const week_before = plusDays(date, -7);
  return week_before.slice(0, 7) === date.slice(0, 7) ? nthInMonth(week_before) + 1 : 1;
}

function countsFor(appointment: Appointment, { options }: OracleInput): string | null {
  return options.provider_type === 'secondary' ? appointment.secondary_provider_ehr_id : appointment.provider_ehr_id;
}

function startsIn({ start }: Timed<Appointment>, { ms }: Minute): boolean {
  return start >= ms && start < ms + minute_ms;
}

function takes({ start, minutes }: Timed<Appointment> | Timed<Block>, minute: Minute): boolean {
  return meets(start, start + minutes * minute_ms, minute);
}

function keepsFree(each: Timed<Appointment>, minute: Minute, { options }: OracleInput): boolean {
  const end = each.start + Math.max(0, each.minutes) * minute_ms;
  const matches = options.visit_type === each.visit_type || options.visit_type === 'all';
  return matches && meets(end, end + options.buffer_min * minute_ms, minute);
}

function meets(from: number, to: number, { ms }: Minute): boolean {
  return from < to && from < ms + minute_ms && to > ms;
}
