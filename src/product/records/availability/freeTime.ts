import type { Exclusion, WorkingTime } from './hours.ts';
import {
  type AvailabilityInput,
  cut,
  type Instant,
  intersect,
  type Options,
  type Range,
  type Reason,
  reasons,
  subtract,
  union,
} from './types.ts';

export type FreePiece = { range: Range; visit_type: string; visits_left: number | null; visits_max: number | null };
export type ExplainedRange = { range: Range; reason: Reason; visit_type?: string | undefined };

/** The free part of a facility's working time, given the busy times that count there, and why the rest is not free. */
export function findFreeTime(
  time: WorkingTime,
  busy: BusyTime[],
  past: Range[],
  options: Options,
): { pieces: FreePiece[]; exclusions: Exclusion[] } {
  const find = options.calculation_method === 'slots' ? freeByRule : freeGaps;
  return find(time, busy, past, options);
}

/** Every minute of the facility's shifts that is not free, with the first reason that applies. */
export function explainBusyTime(time: WorkingTime, free: Range[], exclusions: Exclusion[]): ExplainedRange[] {
  const off = union(time.off.map(([, range]) => range));
  return [
    ...explain(subtract(time.working, union(free)), exclusions),
    ...explain(subtract(off, time.working), time.off),
    ...time.invalid.map((range): ExplainedRange => ({ range, reason: 'invalid_shift' })),
  ];
}

function freeGaps(time: WorkingTime, busy: BusyTime[], past: Range[], options: Options) {
  const exact = options.calculation_method === 'equal_slots';
  const taken = busy.map(({ start, free_at }): Range => [start, free_at]);
  const free = subtract(time.working, union(taken));
  const pieces = divideRanges(free, past, options, exact).map((range) => ({
    range,
    visit_type: options.visit_type,
    visits_left: null,
    visits_max: null,
  }));
  if (!options.explain) return { pieces, exclusions: [] };
  const rest = time.working.map((range): Exclusion => ['too_short', range]);
  return { pieces, exclusions: [...listExclusions(busy, past), ...rest] };
}

/**
 * An appointment of the rule's own visit type that starts inside the rule uses up one of its visits, not its time: a
 * rule may allow three visits in the same half hour. Any other busy time takes time from it.
 */
function freeByRule(time: WorkingTime, busy: BusyTime[], past: Range[], options: Options) {
  const pieces: FreePiece[] = [];
  const exclusions: Exclusion[] = listExclusions(busy, past);
  for (const { rule, range, worked } of time.rules) {
    const { visit_type, visits_max } = rule;
    if (options.visit_type !== 'all' && options.visit_type !== visit_type) {
      exclusions.push(['visit_type', worked, visit_type]);
      continue;
    }
    const counted = new Set(
      busy.filter(
        (each) => each.counted && each.visit_type === visit_type && each.start >= range[0] && each.start < range[1],
      ),
    );
    const visits_left = visits_max - counted.size;
    if (visits_left <= 0) {
      exclusions.push(['quota_full', worked, visit_type]);
      continue;
    }
    const taken = busy.map((each): Range => [counted.has(each) ? each.buffer_start : each.start, each.free_at]);
    for (const piece of divideRanges(subtract(union([worked]), union(taken)), past, options, false)) {
      pieces.push({ range: piece, visit_type, visits_left, visits_max });
    }
  }
  for (const range of time.working) exclusions.push(['no_rule', range]);
  return { pieces, exclusions };
}

/**
 * Divides free ranges, then leaves out the past: divided after that, the pieces of today would start at the present
 * minute and move with it.
 */
function divideRanges(free: Range[], past: Range[], { max_slot_duration }: Options, exact: boolean): Range[] {
  if (max_slot_duration === undefined) return subtract(free, past);
  const pieces = cut(free, max_slot_duration, exact);
  return exact ? pieces.filter((piece) => intersect([piece], past).length === 0) : subtract(pieces, past);
}

function listExclusions(busy: BusyTime[], past: Range[]): Exclusion[] {
  const busy_times = busy.flatMap(({ kind, start, end, buffer_start, free_at }): Exclusion[] => [
    [kind, [start, end]],
    ['buffer', [buffer_start, free_at]],
  ]);
  return [...past.map((range): Exclusion => ['past', range]), ...busy_times];
}

function explain(ranges: Range[], exclusions: Exclusion[]): ExplainedRange[] {
  let rest = ranges;
  return reasons.flatMap((reason) => {
    const of_reason = exclusions.filter(([each]) => each === reason);
    // Of several rules, the first visit type by its code.
    const visit_types = [...new Set(of_reason.map(([, , visit_type]) => visit_type))].sort();
    return visit_types.flatMap((visit_type) => {
      const excluded = union(of_reason.filter(([, , each]) => each === visit_type).map(([, range]) => range));
      const matching = intersect(rest, excluded);
      rest = subtract(rest, excluded);
      return matching.map((range): ExplainedRange => ({ range, reason, visit_type }));
    });
  });
}

/** An appointment, a booking that is not in the EMR yet, or a block: busy from `start` to `end`, with a buffer until `free_at`. Minutes, rounded outward. */
export type BusyTime = {
  kind: 'appointment' | 'booking' | 'block';
  start: number;
  end: number;
  buffer_start: number;
  free_at: number;
  facility_id: string | null;
  visit_type: string | null;
  /** Whether the appointment counts for the limits of the requested role. */
  counted: boolean;
};

/** A provider's busy times by start. None lasts longer than `longest_min`, buffer included. */
export type BusyTimes = { sorted: readonly BusyTime[]; longest_min: number };

/** Busy times by provider, whichever role the provider has. Cancelled appointments are left out. */
export function busyTimesByProvider({ appointments, blocks, options }: AvailabilityInput): Map<string, BusyTimes> {
  const lists = new Map<string, BusyTime[]>();
  const add = (provider_id: string | null, busy: BusyTime) => {
    if (provider_id === null) return;
    const list = lists.get(provider_id);
    if (list) list.push(busy);
    else lists.set(provider_id, [busy]);
  };
  for (const appointment of appointments) {
    if (appointment.cancelled) continue;
    const { visit_type, facility_ehr_id, provider_ehr_id: primary, secondary_provider_ehr_id: secondary } = appointment;
    const buffer_min = options.visit_type === 'all' || options.visit_type === visit_type ? options.buffer_min : 0;
    const kind = appointment.pending ? 'booking' : 'appointment';
    const busy = { kind, facility_id: facility_ehr_id, visit_type } as const;
    const minutes = toMinutes(appointment, buffer_min);
    const counted = options.provider_type === 'secondary' ? secondary : primary;
    for (const provider_id of new Set([primary, secondary])) {
      add(provider_id, { ...busy, ...minutes, counted: provider_id === counted });
    }
  }
  for (const block of blocks) {
    const { provider_ehr_id, facility_ehr_id } = block;
    const busy = { kind: 'block', facility_id: facility_ehr_id, visit_type: null, counted: false } as const;
    add(provider_ehr_id, { ...busy, ...toMinutes(block, 0) });
  }
  return new Map([...lists].map(([provider_id, list]) => [provider_id, sort(list)]));
}

/** The busy times that overlap a range or start in it: a binary search, then a walk over few. */
export function busyTimesIn({ sorted, longest_min }: BusyTimes, [from, to]: Range): BusyTime[] {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.start ?? 0) < from - longest_min) low = middle + 1;
    else high = middle;
  }
  const overlapping: BusyTime[] = [];
  for (let index = low; index < sorted.length; index++) {
    const busy = sorted[index];
    if (!busy || busy.start >= to) break;
    if (busy.free_at > from || busy.start >= from) overlapping.push(busy);
  }
  return overlapping;
}

/** An appointment of no length takes no time, but it counts, and it has a buffer. */
function toMinutes({ starts_at, minutes }: { starts_at: Instant; minutes: number }, buffer_min: number) {
  if (!Number.isFinite(minutes)) throw new RangeError(`Not a number of minutes: ${minutes}`);
  const starts_min = toMilliseconds(starts_at) / 60_000;
  const ends_min = starts_min + Math.max(0, minutes);
  const start = Math.floor(starts_min);
  const end = minutes > 0 ? Math.ceil(ends_min) : start;
  if (buffer_min <= 0) return { start, end, buffer_start: end, free_at: end };
  return { start, end, buffer_start: Math.floor(ends_min), free_at: Math.ceil(ends_min + buffer_min) };
}

/** Throws if the time cannot be parsed: without its appointment, the range would be offered twice. */
export function toMilliseconds(at: Instant): number {
  const ms = typeof at === 'number' ? at : /(?:Z|[+-]\d\d:?\d\d)$/.test(at) ? Date.parse(at) : Number.NaN;
  if (!Number.isFinite(ms)) throw new RangeError(`Not an instant: ${at}`);
  return ms;
}

function sort(list: BusyTime[]): BusyTimes {
  const sorted = list.sort((a, b) => a.start - b.start);
  return { sorted, longest_min: sorted.reduce((most, { start, free_at }) => Math.max(most, free_at - start), 0) };
}
