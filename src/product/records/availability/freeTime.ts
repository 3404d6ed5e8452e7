import type { BusyTime } from './busyTimes.ts';
import { cut, intersect, type Range, subtract, union } from './ranges.ts';
import { type Options, type Reason, reasons } from './types.ts';
import type { Exclusion, WorkingTime } from './workingTime.ts';

export type FreePiece = { range: Range; visit_type: string; visits_left: number | null; visits_max: number | null };
export type ExplainedRange = { range: Range; reason: Reason };

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
  const pieces = piecesOf(free, past, options, exact).map((range) => ({
    range,
    visit_type: options.visit_type,
    visits_left: null,
    visits_max: null,
  }));
  if (!options.explain) return { pieces, exclusions: [] };
  const rest = time.working.map((range): Exclusion => ['too_short', range]);
  return { pieces, exclusions: [...exclusionsOf(busy, past), ...rest] };
}

/**
 * An appointment of the rule's own visit type that starts inside the rule uses up one of its visits, not its time: a
 * rule may allow three visits in the same half hour. Any other busy time takes time from it.
 */
function freeByRule(time: WorkingTime, busy: BusyTime[], past: Range[], options: Options) {
  const pieces: FreePiece[] = [];
  const exclusions: Exclusion[] = exclusionsOf(busy, past);
  for (const { rule, range, worked } of time.rules) {
    const { visit_type, visits_max } = rule;
    if (options.visit_type !== 'all' && options.visit_type !== visit_type) {
      exclusions.push(['visit_type', worked]);
      continue;
    }
    const counted = new Set(
      busy.filter(
        (each) => each.counted && each.visit_type === visit_type && each.start >= range[0] && each.start < range[1],
      ),
    );
    const visits_left = visits_max - counted.size;
    if (visits_left <= 0) {
      exclusions.push(['quota_full', worked]);
      continue;
    }
    const taken = busy.map((each): Range => [counted.has(each) ? each.buffer_start : each.start, each.free_at]);
    for (const piece of piecesOf(subtract(union([worked]), union(taken)), past, options, false)) {
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
function piecesOf(free: Range[], past: Range[], { max_slot_duration }: Options, exact: boolean): Range[] {
  if (max_slot_duration === undefined) return subtract(free, past);
  const pieces = cut(free, max_slot_duration, exact);
  return exact ? pieces.filter((piece) => intersect([piece], past).length === 0) : subtract(pieces, past);
}

function exclusionsOf(busy: BusyTime[], past: Range[]): Exclusion[] {
  const busy_times = busy.flatMap(({ kind, start, end, buffer_start, free_at }): Exclusion[] => [
    [kind, [start, end]],
    ['buffer', [buffer_start, free_at]],
  ]);
  return [...past.map((range): Exclusion => ['past', range]), ...busy_times];
}

function explain(ranges: Range[], exclusions: Exclusion[]): ExplainedRange[] {
  let rest = ranges;
  return reasons.flatMap((reason) => {
    const excluded = union(exclusions.filter(([each]) => each === reason).map(([, range]) => range));
    const found = intersect(rest, excluded);
    rest = subtract(rest, excluded);
    return found.map((range): ExplainedRange => ({ range, reason }));
  });
}
