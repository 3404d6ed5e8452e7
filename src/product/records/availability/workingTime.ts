import type { Zone } from '../../../platform/time/zones.ts';
import type { FacilityShifts, Rule, Shift } from './hours.ts';
import { type Range, union } from './ranges.ts';
import type { Reason } from './types.ts';

/** A range that is not free, and why. */
export type Exclusion = readonly [reason: Reason, range: Range];

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
  const rangeOf = (start: number, end: number): Range => [zone.instantOf(day, start), zone.instantOf(day, end)];
  for (const shift of facility.shifts) {
    const range = rangeOf(shift.start, shift.end);
    const reason = offReason(shift, day);
    if (shift.fault === 'times') time.invalid.push(range);
    else if (reason) time.off.push([reason, range]);
    else {
      time.working.push(range);
      for (const rule of options.with_rules ? shift.rules : []) {
        const [start, end] = rangeOf(rule.start, rule.end);
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
