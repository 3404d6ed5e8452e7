import { formatDay, parseDay, toWeekday } from '../../../platform/time/days.ts';
import { loadZone, type Zone } from '../../../platform/time/zones.ts';
import {
  type BusyTime,
  type BusyTimes,
  busyTimesByProvider,
  busyTimesIn,
  type ExplainedRange,
  explainBusyTime,
  type FreePiece,
  findFreeTime,
  toMilliseconds,
} from './freeTime.ts';
import { type Exclusion, type FacilityShifts, hasHours, parseWeek, type WorkingTime, workingTimeOn } from './hours.ts';
import {
  type Availability,
  type AvailabilityInput,
  type Explanation,
  type FreeRange,
  type Options,
  type ProviderInput,
  type Range,
  subtract,
  union,
} from './types.ts';

type Week = Map<number, FacilityShifts[]>;
/** A day in the time zone of the organization. */
type Day = { day: number; date: string; weekday: number; range: Range; zone: Zone; skipped: LocalRange | undefined };
/** Local times with their offset. */
type LocalRange = { start: string; end: string };
/** A provider with everything that decides about their days. */
type Calendar = { provider: ProviderInput; week: Week | undefined; busy: BusyTimes | undefined };
type Free = { piece: FreePiece; facility: FacilityShifts };
type Explained = { explained: ExplainedRange; facility: FacilityShifts | undefined };

/** As many as 100 providers have in a month with visits of 15 minutes; 35 MB of JSON, in a second. */
export const ranges_max = 100_000;

/** More than `ranges_max`: nothing else would be served while they are described, and they may not fit into memory. */
export class TooManyRanges extends Error {}

/**
 * Finds when providers are free. Pure: no clock, no I/O. Works in whole minutes: working time is rounded inward and busy
 * time outward, so that no offered minute is partly busy. Sorted by day, provider (in the order of the input), start, facility and
 * rule. docs/decisions/0005-availability.md explains the rules.
 */
export function findAvailability(input: AvailabilityInput): Availability {
  const steps = findInSteps(input);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** The same, one day of one provider at a time, so that the caller can do something else in between. */
export function* findInSteps(input: AvailabilityInput): Generator<undefined, Availability> {
  const { options, providers } = input;
  checkDurations(options);
  const [first, last] = [requireDay(input.start_date), requireDay(input.end_date)];
  const zone = loadZone(input.timezone);
  const busy = busyTimesByProvider(input);
  const calendars = providers.map((provider): Calendar => {
    return { provider, week: chooseWeek(provider, options), busy: busy.get(provider.ehr_id) };
  });
  const availability: FreeRange[] = [];
  const explanations: Explanation[] = [];
  for (let number = first; number <= last; number++) {
    const day = describeDay(number, zone);
    for (const calendar of calendars) {
      const ranges = findOnDay(input, calendar, day);
      for (const each of ranges.free) availability.push(describeFreeRange(input, calendar, day, each));
      for (const each of ranges.explained) explanations.push(explainRange(calendar, day, each));
      if (options.explain && day.skipped) explanations.push(explainSkipped(calendar, day.date, day.skipped));
      if (availability.length + explanations.length > ranges_max) throw new TooManyRanges();
      yield;
    }
  }
  return options.explain ? { availability, explanations } : { availability };
}

function checkDurations({ calculation_method, max_slot_duration }: Options): void {
  const valid = max_slot_duration !== undefined && Number.isInteger(max_slot_duration) && max_slot_duration > 0;
  if (!valid && (max_slot_duration !== undefined || calculation_method === 'equal_slots')) {
    throw new RangeError(`max_slot_duration is ${max_slot_duration}`);
  }
}

function requireDay(date: string): number {
  const day = parseDay(date);
  if (day === undefined) throw new RangeError(`Not a date: ${date}`);
  return day;
}

function chooseWeek(provider: ProviderInput, options: Options): Week | undefined {
  if (hasHours(provider.hours)) return parseWeek(provider.hours);
  return options.fallback_hours && parseWeek(options.fallback_hours);
}

function describeDay(day: number, zone: Zone): Day {
  const range: Range = [zone.instantAt(day, 0), zone.instantAt(day + 1, 0)];
  const date = formatDay(day);
  return { day, date, weekday: toWeekday(day), range, zone, skipped: findSkipped(date, range, zone) };
}

/** The local times that clocks skip on a day when they go forward. */
function findSkipped(date: string, [from, to]: Range, zone: Zone): LocalRange | undefined {
  // One minute earlier, because clocks can change at midnight.
  let [before, after] = [from - 1, to - 1];
  const offset = zone.offsetAt(before);
  const skipped_min = zone.offsetAt(after) - offset;
  // A whole day is skipped where the date line moves.
  if (from >= to || skipped_min <= 0 || skipped_min >= 1_440) return undefined;
  while (after - before > 1) {
    const middle = (before + after) >> 1;
    if (zone.offsetAt(middle) === offset) before = middle;
    else after = middle;
  }
  const start_min = (((after + offset) % 1_440) + 1_440) % 1_440;
  const time = [Math.floor(start_min / 60), start_min % 60].map((part) => String(part).padStart(2, '0')).join(':');
  return { start: `${date}T${time}:00${zone.iso(before).slice(19)}`, end: zone.iso(after) };
}

function findOnDay(input: AvailabilityInput, { provider, week, busy: all_busy }: Calendar, day: Day) {
  const { options } = input;
  if (provider.unavailable) {
    const whole_day = { explained: { range: day.range, reason: provider.unavailable }, facility: undefined };
    return { free: [], explained: options.explain ? [whole_day] : [] };
  }
  const past = listPast(input);
  const free: Free[] = [];
  const explained: Explained[] = [];
  if (!week && options.explain) {
    explained.push({ explained: { range: day.range, reason: 'no_hours' }, facility: undefined });
  }
  const facilities = week?.get(day.weekday) ?? [];
  const busy = all_busy && facilities.length > 0 ? busyTimesIn(all_busy, day.range) : [];
  const full = isFull(day, busy, options);
  for (const facility of facilities) {
    const time = workingTimeOn(facility, day.day, day.zone, { with_rules: options.calculation_method === 'slots' });
    const excluded = excludeFacility(facility, time, full, input);
    const { pieces, exclusions } = excluded ?? findFreeTime(time, busyAt(facility, busy, options), past, options);
    for (const piece of pieces) free.push({ piece, facility });
    if (!options.explain) continue;
    const ranges = pieces.map((piece) => piece.range);
    for (const each of explainBusyTime(time, ranges, exclusions)) explained.push({ explained: each, facility });
  }
  if (options.explain) {
    const covered = union([...free.map(({ piece }) => piece.range), ...explained.map((each) => each.explained.range)]);
    for (const range of subtract([day.range], covered)) {
      explained.push({ explained: { range, reason: 'outside_hours' }, facility: undefined });
    }
  }
  // Facilities are in the order of their ids, and the sort is stable.
  free.sort((a, b) => a.piece.range[0] - b.piece.range[0]);
  explained.sort((a, b) => a.explained.range[0] - b.explained.range[0]);
  return { free, explained };
}

/** Counts the appointments that start on the day, at all facilities. */
function isFull({ range }: Day, busy: BusyTime[], options: Options): boolean {
  const { daily_appointment_limit, daily_limit_type } = options;
  if (daily_appointment_limit === undefined || daily_limit_type === undefined) return false;
  const counted = busy.filter(
    ({ counted, start, visit_type }) =>
      counted && start >= range[0] && (daily_limit_type === 'all' || daily_limit_type === visit_type),
  );
  return counted.length >= daily_appointment_limit;
}

/** The current minute counts as past. */
function listPast({ not_before }: AvailabilityInput): Range[] {
  return not_before === undefined ? [] : [[Number.NEGATIVE_INFINITY, Math.ceil(toMilliseconds(not_before) / 60_000)]];
}

function excludeFacility(
  { facility_id }: FacilityShifts,
  time: WorkingTime,
  full: boolean,
  { inactive_facilities, options: { location_ids } }: AvailabilityInput,
) {
  const elsewhere = location_ids && (facility_id === null || !location_ids.includes(facility_id));
  const inactive = facility_id !== null && inactive_facilities?.has(facility_id);
  if (!elsewhere && !inactive && !full) return undefined;
  const reason = elsewhere ? 'location' : inactive ? 'inactive_location' : 'daily_limit';
  return { pieces: [], exclusions: time.working.map((range): Exclusion => [reason, range]) };
}

/** An unknown facility, on either side, may be the same one. */
function busyAt(facility: FacilityShifts, busy: BusyTime[], options: Options): BusyTime[] {
  if (!options.facility_scoped_scheduling || facility.facility_id === null) return busy;
  return busy.filter(({ facility_id }) => facility_id === null || facility_id === facility.facility_id);
}

function describeFreeRange(
  { facilities }: AvailabilityInput,
  { provider }: Calendar,
  { date, weekday, zone }: Day,
  { piece, facility: { facility_id, facility_name } }: Free,
): FreeRange {
  const { range, visit_type, visits_left, visits_max } = piece;
  return {
    day_of_week: weekday,
    date,
    duration_string: durationString(range[1] - range[0]),
    range_start: zone.iso(range[0]),
    range_end: zone.iso(range[1]),
    provider_id: provider.ehr_id,
    provider_name: provider.name,
    facility_id,
    facility_name: (facility_id === null ? undefined : facilities.get(facility_id)) ?? facility_name,
    timezone_abbr: zone.abbreviation(range[0]),
    visit_type,
    available_appointments: visits_left,
    max_visits: visits_max,
  };
}

/** `4h 20min`, `4h`, `20min` */
function durationString(minutes: number): string {
  const hours = Math.floor(minutes / 60);
  return [hours > 0 && `${hours}h`, minutes % 60 > 0 && `${minutes % 60}min`].filter(Boolean).join(' ');
}

function explainRange({ provider }: Calendar, { date, zone }: Day, { explained, facility }: Explained): Explanation {
  const { range, reason, visit_type = null } = explained;
  return {
    provider_id: provider.ehr_id,
    facility_id: facility?.facility_id ?? null,
    date,
    range_start: zone.iso(range[0]),
    range_end: zone.iso(range[1]),
    reason,
    visit_type,
  };
}

function explainSkipped({ provider }: Calendar, date: string, { start, end }: LocalRange): Explanation {
  return {
    provider_id: provider.ehr_id,
    facility_id: null,
    date,
    range_start: start,
    range_end: end,
    reason: 'clock_change',
    visit_type: null,
  };
}
