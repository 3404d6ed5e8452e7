/** From the first minute to the one after the last. Lists of ranges are sorted and disjoint unless noted. */
export type Range = readonly [start: number, end: number];

/** Sorts ranges, merges those that overlap or touch, and drops empty ones. The input may be in any order. */
export function union(ranges: readonly Range[]): Range[] {
  const some = ranges.filter(([from, to]) => from < to);
  if (some.length < 2) return some;
  const merged: [number, number][] = [];
  for (const [start, end] of some.sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

/** The parts of `ranges` that are not in `taken`. */
export function subtract(ranges: readonly Range[], taken: readonly Range[]): Range[] {
  const left: Range[] = [];
  for (const [start, end] of ranges) {
    let from = start;
    for (const [taken_from, taken_to] of taken) {
      if (taken_to <= from) continue;
      if (taken_from >= end) break;
      if (taken_from > from) left.push([from, taken_from]);
      from = taken_to;
    }
    if (from < end) left.push([from, end]);
  }
  return left;
}

/** The parts of `ranges` that are also in `others`. */
export function intersect(ranges: readonly Range[], others: readonly Range[]): Range[] {
  return subtract(ranges, subtract(ranges, others));
}

/** Cuts ranges into pieces of at most `minutes`; `exact` drops a shorter last piece. */
export function cut(ranges: readonly Range[], minutes: number, exact: boolean): Range[] {
  const pieces: Range[] = [];
  for (const [start, end] of ranges) {
    for (let from = start; from < end; from += minutes) {
      if (from + minutes <= end) pieces.push([from, from + minutes]);
      else if (!exact) pieces.push([from, end]);
    }
  }
  return pieces;
}
