import { jittered } from '../worker/backoff.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** How long after the try before it each try comes: ten tries over 75.6 hours. Each pause is moved by up to 20 %. */
export const ladder_ms: readonly number[] = [
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

/** The longest pause a receiver may ask for. */
const retry_after_max_s = 86_400;

/** The pause before the next try in ms, never shorter than the receiver asked for; undefined after the last try. */
export function nextTry(
  attempts_made: number,
  retry_after_s: number | undefined,
  random: () => number = Math.random,
): number | undefined {
  const plain = ladder_ms[attempts_made];
  if (plain === undefined) return undefined;
  const asked = Math.min(retry_after_s ?? 0, retry_after_max_s) * second;
  return Math.max(Math.round(jittered(plain, random)), asked);
}

/** What a Retry-After header asks for: seconds, or the time until its HTTP date. What cannot be read asks for nothing. */
export function retryAfterS(header: string | undefined, now_ms: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  // An HTTP date is in GMT and starts with the name of a day; Date.parse alone would also read "-1" or "2.5".
  const at_ms = /^[A-Z][a-z]+,? .*(GMT|\d{4})$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at_ms) ? undefined : Math.max(0, Math.ceil((at_ms - now_ms) / second));
}
