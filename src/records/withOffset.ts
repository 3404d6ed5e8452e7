/**
 * What the clock of a zone shows (`2026-03-08T01:00:00`) as an instant with its offset. A time that the clock shows
 * twice is the first of the two; one that it skips is taken by the offset before the change.
 */
export function withOffset(shown: string, timezone: string): string {
  const utc = Date.parse(`${shown}Z`);
  // No zone changes twice within two days, so one of these two offsets holds.
  const [before, after] = [offsetAt(timezone, utc - day_ms), offsetAt(timezone, utc + day_ms)];
  const holds = [before, after].find((offset) => offsetAt(timezone, utc - offset * minute_ms) === offset);
  if (holds !== undefined) return shown + written(holds);
  const instant = utc - before * minute_ms;
  return new Date(instant + after * minute_ms).toISOString().slice(0, 19) + written(after);
}

const minute_ms = 60_000;
const day_ms = 1440 * minute_ms;

/** Minutes by which the clock of a zone is ahead of UTC. */
function offsetAt(timezone: string, instant: number): number {
  const text = formatterOf(timezone).format(instant);
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(text) ?? [];
  const size = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  return sign === '-' ? -size : size;
}

/** Making one costs 50 µs, using it 2. */
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const made = formatters.get(timeZone) ?? new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  formatters.set(timeZone, made);
  return made;
}

function written(offset_min: number): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const size = Math.abs(offset_min);
  return `${offset_min < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
