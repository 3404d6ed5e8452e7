import { dayOf, monthOf, weekdayOf, weekOf } from './days.ts';
import type { HoursShift } from './question.ts';

type Recurrence = NonNullable<HoursShift['recurrence']>;

/**
 * Whether a shift of this weekday recurs on a day; undefined when the recurrence cannot be read. It is asked only about
 * days of the shift's own weekday: the week's hours name every weekday on which a shift can fall.
 *
 * - n days: the days `rec_start_date` + 0, n, 2n, …
 * - n weeks: the week of `rec_start_date` (Monday to Sunday) and every n-th after it.
 * - n months: the first such weekday on or after `rec_start_date` has a place in its month (say, the second Tuesday);
 *   that place in its month and every n-th month after. A fifth Tuesday is skipped in months that have four. The same
 *   day of the month would meet the shift's weekday about twice a year.
 */
export function readRecurrence(recurrence: Recurrence, weekday: number): ((day: number) => boolean) | undefined {
  const first = dayOf(recurrence.rec_start_date);
  const last = recurrence.rec_end_date ? dayOf(recurrence.rec_end_date) : Number.POSITIVE_INFINITY;
  const every = recurrence.recur_interval_amount;
  if (first === undefined || last === undefined || !Number.isInteger(every) || every < 1) return undefined;
  const within = (day: number) => day >= first && day <= last;
  switch ((recurrence.recur_interval_type || 'weeks').toLowerCase().replace(/s$/, '')) {
    case 'day':
      return (day) => within(day) && (day - first) % every === 0;
    case 'week':
      return (day) => within(day) && (weekOf(day) - weekOf(first)) % every === 0;
    case 'month': {
      const anchor = monthOf(first + ((weekday - weekdayOf(first) + 7) % 7));
      return (day) => {
        const { month, nth } = monthOf(day);
        return within(day) && nth === anchor.nth && (month - anchor.month) % every === 0;
      };
    }
    default:
      return undefined;
  }
}
