import type { Entry } from './diary.ts';
import type { Options } from './question.ts';
import { cut, type Range, subtract, union } from './ranges.ts';
import type { Refusal, Work } from './workOn.ts';

export type Piece = { range: Range; visit_type: string; visits_left: number | null; visits_max: number | null };

/** What of a place's working time is offered, given the entries that count there, and what stands against the rest. */
export function offerWork(work: Work, entries: Entry[], options: Options): { pieces: Piece[]; refusals: Refusal[] } {
  return options.calculation_method === 'slots'
    ? offerRules(work, entries, options)
    : offerFreeTime(work, entries, options);
}

function offerFreeTime(work: Work, entries: Entry[], options: Options) {
  const exact = options.calculation_method === 'equal_slots';
  const free = subtract(work.working, union(entries.map(({ start, free_at }) => [start, free_at])));
  const pieces = piecesOf(free, options, exact).map((range) => ({
    range,
    visit_type: options.visit_type,
    visits_left: null,
    visits_max: null,
  }));
  if (!options.explain) return { pieces, refusals: [] };
  const rest = work.working.map((range): Refusal => ['too_short', range]);
  return { pieces, refusals: [...takenBy(entries), ...rest] };
}

/**
 * An appointment of the rule's own type that starts inside the rule takes one of its visits, not its time: three visits
 * may be meant for the same half hour. Whatever else is in the diary takes time.
 */
function offerRules(work: Work, entries: Entry[], options: Options) {
  const pieces: Piece[] = [];
  const refusals: Refusal[] = takenBy(entries);
  for (const { rule, whole, worked } of work.rules) {
    const { visit_type, visits_max } = rule;
    if (options.visit_type !== 'all' && options.visit_type !== visit_type) {
      refusals.push(['visit_type', worked]);
      continue;
    }
    const counted = new Set(
      entries.filter(
        (entry) =>
          entry.kind === 'appointment' &&
          entry.visit_type === visit_type &&
          entry.start >= whole[0] &&
          entry.start < whole[1],
      ),
    );
    const visits_left = visits_max - counted.size;
    if (visits_left <= 0) {
      refusals.push(['quota_full', worked]);
      continue;
    }
    const taken = entries.map((entry): Range => [counted.has(entry) ? entry.buffer_start : entry.start, entry.free_at]);
    for (const range of piecesOf(subtract(union([worked]), union(taken)), options, false)) {
      pieces.push({ range, visit_type, visits_left, visits_max });
    }
  }
  for (const range of work.working) refusals.push(['no_rule', range]);
  return { pieces, refusals };
}

function piecesOf(free: Range[], { max_slot_duration }: Options, exact: boolean): Range[] {
  return max_slot_duration === undefined ? free : cut(free, max_slot_duration, exact);
}

function takenBy(entries: Entry[]): Refusal[] {
  return entries.flatMap(({ kind, start, end, buffer_start, free_at }): Refusal[] => [
    [kind, [start, end]],
    ['buffer', [buffer_start, free_at]],
  ]);
}
