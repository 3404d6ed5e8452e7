/** The oracle's own clock and calendar: it reads the local time of each minute from Intl. */
export type Minute = { ms: number; local: string; local_s: string };

export const minute_ms = 60_000;
const hour_ms = 60 * minute_ms;

const locals = new Map<string, Map<number, string>>();
const formats = new Map<string, Intl.DateTimeFormat>();
const weekday_format = new Intl.DateTimeFormat('en-US', { weekday: 'long', timeZone: 'UTC' });
const starts = new Map<string, number>();
const days = new Map<string, Minute[]>();

/** The minutes of a day: from the first at 00:00 or later to the last before the next day starts. */
export function minutesOfDay(zone: string, date: string): Minute[] {
  const key = `${zone} ${date}`;
  const cached = days.get(key);
  if (cached) return cached;
  const end = startOfDay(zone, plusDays(date, 1));
  const minutes: Minute[] = [];
  for (let ms = startOfDay(zone, date); ms < end; ms += minute_ms) {
    const local = localAt(zone, ms);
    minutes.push({ ms, local, local_s: `${local}:00` });
  }
  days.set(key, minutes);
  return minutes;
}

export function startOfDay(zone: string, date: string): number {
  const cached = starts.get(`${zone} ${date}`);
  if (cached !== undefined) return cached;
  let ms = Date.parse(`${date}T00:00:00Z`) - 40 * hour_ms;
  while (localAt(zone, ms) < `${date} 00:00`) ms += minute_ms;
  starts.set(`${zone} ${date}`, ms);
  return ms;
}

/** `2026-03-08T01:00:00-05:00` */
export function isoAt(zone: string, ms: number): string {
  const local = localAt(zone, ms).replace(' ', 'T');
  const ahead = (Date.parse(`${local}:00Z`) - ms) / minute_ms;
  const two = (value: number) => String(value).padStart(2, '0');
  const size = Math.abs(ahead);
  return `${local}:00${ahead < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

export function plusDays(date: string, count: number): string {
  return new Date(Date.parse(`${date}T12:00:00Z`) + count * 24 * hour_ms).toISOString().slice(0, 10);
}

export function weekdayName(date: string): string {
  return weekday_format.format(Date.parse(`${date}T12:00:00Z`));
}

/** `2026-03-08 01:00`; Swedish dates are in ISO format. */
function localAt(zone: string, ms: number): string {
  const cached = locals.get(zone) ?? new Map<number, string>();
  locals.set(zone, cached);
  const local = cached.get(ms) ?? chooseFormat(zone).format(ms);
  cached.set(ms, local);
  return local;
}

function chooseFormat(zone: string): Intl.DateTimeFormat {
  const two = '2-digit';
  const parts = { year: 'numeric', month: two, day: two, hour: two, minute: two } as const;
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, ...parts });
  formats.set(zone, format);
  return format;
}
