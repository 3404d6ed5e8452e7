import type { Reason } from './question.ts';
import { type Range, union } from './ranges.ts';
import type { Place, Rule, Shift } from './readWeek.ts';
import type { Zone } from './zone.ts';

export type Refusal = readonly [reason: Reason, range: Range];

/** One place on one day: when it is worked, and which of its shifts are not worked on that day. */
export type Work = {
  working: Range[];
  /** With the part of them inside their shift. */
  rules: { rule: Rule; whole: Range; worked: Range }[];
  idle: Refusal[];
  /** As they stand: they may end before they start. */
  broken: Range[];
};

export function workOn(place: Place, day: number, zone: Zone, with_rules: boolean): Work {
  const work: Work = { working: [], rules: [], idle: [], broken: [] };
  const rangeOf = (start: number, end: number): Range => [zone.firstShowing(day, start), zone.firstShowing(day, end)];
  for (const shift of place.shifts) {
    const range = rangeOf(shift.start, shift.end);
    const reason = whyIdle(shift, day);
    if (shift.fault === 'times') work.broken.push(range);
    else if (reason) work.idle.push([reason, range]);
    else {
      work.working.push(range);
      for (const rule of with_rules ? shift.rules : []) {
        const whole = rangeOf(rule.start, rule.end);
        work.rules.push({ rule, whole, worked: [Math.max(range[0], whole[0]), Math.min(range[1], whole[1])] });
      }
    }
  }
  work.working = union(work.working);
  return work;
}

function whyIdle(shift: Shift, day: number): Reason | undefined {
  if (shift.fault) return 'invalid_shift';
  if (day < shift.first_day || day > shift.last_day) return 'outside_dates';
  return shift.recursOn(day) ? undefined : 'recurrence';
}
