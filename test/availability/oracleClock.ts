/** The oracle's own clock and calendar: it reads the clock of a zone minute by minute and looks what it shows. */
export type Minute = { ms: number; wall: string };

export const minute_ms = 60_000;
const hour_ms = 60 * minute_ms;

const walls = new Map<string, Map<number, string>>();
const faces = new Map<string, Intl.DateTimeFormat>();
const weekday_face = new Intl.DateTimeFormat('en-US', { weekday: 'long', timeZone: 'UTC' });
const starts = new Map<string, number>();
const days = new Map<string, Minute[]>();

/** The minutes of a day: from the first that shows 00:00 or later to the last before the next day's first. */
export function minutesOfDay(zone: string, date: string): Minute[] {
  const key = `${zone} ${date}`;
  const known = days.get(key);
  if (known) return known;
  const end = startOfDay(zone, plusDays(date, 1));
  const minutes: Minute[] = [];
  for (let ms = startOfDay(zone, date); ms < end; ms += minute_ms) minutes.push({ ms, wall: wallAt(zone, ms) });
  days.set(key, minutes);
  return minutes;
}

export function startOfDay(zone: string, date: string): number {
  const known = starts.get(`${zone} ${date}`);
  if (known !== undefined) return known;
  let ms = Date.parse(`${date}T00:00:00Z`) - 40 * hour_ms;
  while (wallAt(zone, ms) < `${date} 00:00`) ms += minute_ms;
  starts.set(`${zone} ${date}`, ms);
  return ms;
}

/** `2026-03-08T01:00:00-05:00`: what the clock shows, and how far that is from UTC. */
export function isoAt(zone: string, ms: number): string {
  const wall = wallAt(zone, ms).replace(' ', 'T');
  const ahead = (Date.parse(`${wall}:00Z`) - ms) / minute_ms;
  const two = (value: number) => String(value).padStart(2, '0');
  const size = Math.abs(ahead);
  return `${wall}:00${ahead < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

export function plusDays(date: string, count: number): string {
  return new Date(Date.parse(`${date}T12:00:00Z`) + count * 24 * hour_ms).toISOString().slice(0, 10);
}

export function weekdayName(date: string): string {
  return weekday_face.format(Date.parse(`${date}T12:00:00Z`));
}

/** `2026-03-08 01:00`; Swedish dates are ISO dates. */
function wallAt(zone: string, ms: number): string {
  const known = walls.get(zone) ?? new Map<number, string>();
  walls.set(zone, known);
  const wall = known.get(ms) ?? faceOf(zone).format(ms);
  known.set(ms, wall);
  return wall;
}

function faceOf(zone: string): Intl.DateTimeFormat {
  const two = '2-digit';
  const parts = { year: 'numeric', month: two, day: two, hour: two, minute: two } as const;
  const face = faces.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, ...parts });
  faces.set(zone, face);
  return face;
}
