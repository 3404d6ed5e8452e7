import { type Reason, reasons } from './question.ts';
import { intersect, type Range, subtract, union } from './ranges.ts';
import type { Refusal, Work } from './workOn.ts';

export type Stretch = { range: Range; reason: Reason };

/** Every minute of the place's shifts that is not offered, under the first reason that applies to it. */
export function explainWork(work: Work, offered: Range[], refusals: Refusal[]): Stretch[] {
  const idle = union(work.idle.map(([, range]) => range));
  return [
    ...sortOut(subtract(work.working, union(offered)), refusals),
    ...sortOut(subtract(idle, work.working), work.idle),
    ...work.broken.map((range): Stretch => ({ range, reason: 'invalid_shift' })),
  ];
}

function sortOut(ranges: Range[], refusals: Refusal[]): Stretch[] {
  let rest = ranges;
  return reasons.flatMap((reason) => {
    const refused = union(refusals.filter(([each]) => each === reason).map(([, range]) => range));
    const found = intersect(rest, refused);
    rest = subtract(rest, refused);
    return found.map((range): Stretch => ({ range, reason }));
  });
}
