import { jittered } from '../../platform/worker/backoff.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The pause before each attempt: ten attempts over 75.6 hours. Each pause varies by up to 20 %. */
export const retry_delays_ms: readonly number[] = [
  0,
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** The longest Retry-After that is honored. */
const retry_after_max_s = 86_400;

/** The longest pause before another attempt: that of the schedule at its latest, or the longest Retry-After. */
export const retry_pause_max_ms = Math.max(
  jittered(Math.max(...retry_delays_ms), () => 1),
  retry_after_max_s * second,
);

/** The pause before the next attempt, never shorter than the receiver's Retry-After. Undefined after the last attempt. */
export function nextAttemptDelay(
  attempts_made: number,
  retry_after_s: number | undefined,
  random: () => number = Math.random,
): number | undefined {
  const plain = retry_delays_ms[attempts_made];
  if (plain === undefined) return undefined;
  const requested_ms = Math.min(retry_after_s ?? 0, retry_after_max_s) * second;
  return Math.max(Math.round(jittered(plain, random)), requested_ms);
}

/** The seconds a Retry-After header asks for, given as a number or as an HTTP date. Undefined if it cannot be parsed. */
export function retryAfterS(header: string | undefined, now_ms: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  // An HTTP date is in GMT and starts with the name of a day; Date.parse alone would also read "-1" or "2.5".
  const at_ms = /^[A-Z][a-z]+,? .*(GMT|\d{4})$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at_ms) ? undefined : Math.max(0, Math.ceil((at_ms - now_ms) / second));
}
