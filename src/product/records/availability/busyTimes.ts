import type { Range } from './ranges.ts';
import type { AvailabilityInput, Instant } from './types.ts';

/** An appointment or block: busy from `start` to `end`, with a buffer until `free_at`. Minutes, rounded outward. */
export type BusyTime = {
  kind: 'appointment' | 'block';
  start: number;
  end: number;
  buffer_start: number;
  free_at: number;
  facility_id: string | null;
  visit_type: string | null;
  /** Whether the appointment counts for the limits of the requested role. */
  counted: boolean;
};

/** A provider's busy times by start. None lasts longer than `longest_min`, buffer included. */
export type BusyTimes = { sorted: readonly BusyTime[]; longest_min: number };

/** Busy times by provider, whichever role the provider has. Cancelled appointments are left out. */
export function busyTimesByProvider({ appointments, blocks, options }: AvailabilityInput): Map<string, BusyTimes> {
  const lists = new Map<string, BusyTime[]>();
  const add = (provider_id: string | null, busy: BusyTime) => {
    if (provider_id === null) return;
    const list = lists.get(provider_id);
    if (list) list.push(busy);
    else lists.set(provider_id, [busy]);
  };
  for (const appointment of appointments) {
    if (appointment.cancelled) continue;
    const { visit_type, facility_ehr_id, provider_ehr_id: primary, secondary_provider_ehr_id: secondary } = appointment;
    const buffer_min = options.visit_type === 'all' || options.visit_type === visit_type ? options.buffer_min : 0;
    const busy = { kind: 'appointment', facility_id: facility_ehr_id, visit_type } as const;
    const minutes = minutesOf(appointment, buffer_min);
    const counted = options.provider_type === 'secondary' ? secondary : primary;
    for (const provider_id of new Set([primary, secondary])) {
      add(provider_id, { ...busy, ...minutes, counted: provider_id === counted });
    }
  }
  for (const block of blocks) {
    const { provider_ehr_id, facility_ehr_id } = block;
    const busy = { kind: 'block', facility_id: facility_ehr_id, visit_type: null, counted: false } as const;
    add(provider_ehr_id, { ...busy, ...minutesOf(block, 0) });
  }
  return new Map([...lists].map(([provider_id, list]) => [provider_id, sort(list)]));
}

/** The busy times that overlap a range or start in it: a binary search, then a walk over few. */
export function busyTimesIn({ sorted, longest_min }: BusyTimes, [from, to]: Range): BusyTime[] {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.start ?? 0) < from - longest_min) low = middle + 1;
    else high = middle;
  }
  const found: BusyTime[] = [];
  for (let index = low; index < sorted.length; index++) {
    const busy = sorted[index];
    if (!busy || busy.start >= to) break;
    if (busy.free_at > from || busy.start >= from) found.push(busy);
  }
  return found;
}

/** An appointment of no length takes no time, but it counts, and it has a buffer. */
function minutesOf({ starts_at, minutes }: { starts_at: Instant; minutes: number }, buffer_min: number) {
  if (!Number.isFinite(minutes)) throw new RangeError(`Not a number of minutes: ${minutes}`);
  const starts_min = millisecondsOf(starts_at) / 60_000;
  const ends_min = starts_min + Math.max(0, minutes);
  const start = Math.floor(starts_min);
  const end = minutes > 0 ? Math.ceil(ends_min) : start;
  if (buffer_min <= 0) return { start, end, buffer_start: end, free_at: end };
  return { start, end, buffer_start: Math.floor(ends_min), free_at: Math.ceil(ends_min + buffer_min) };
}

/** Throws if the time cannot be parsed: without its appointment, the range would be offered twice. */
export function millisecondsOf(at: Instant): number {
  const ms = typeof at === 'number' ? at : /(?:Z|[+-]\d\d:?\d\d)$/.test(at) ? Date.parse(at) : Number.NaN;
  if (!Number.isFinite(ms)) throw new RangeError(`Not an instant: ${at}`);
  return ms;
}

function sort(list: BusyTime[]): BusyTimes {
  const sorted = list.sort((a, b) => a.start - b.start);
  return { sorted, longest_min: sorted.reduce((most, { start, free_at }) => Math.max(most, free_at - start), 0) };
}
