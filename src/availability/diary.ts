import type { Instant, Question } from './question.ts';
import type { Range } from './ranges.ts';

/** What takes a provider's time: `start` to `end`, and from `buffer_start` to `free_at`. Minutes, rounded outward. */
export type Entry = {
  kind: 'appointment' | 'block';
  start: number;
  end: number;
  buffer_start: number;
  free_at: number;
  facility_id: string | null;
  visit_type: string | null;
};

/** A provider's entries by their start; none lasts longer than `longest_min`, buffer included. */
export type Diary = { entries: readonly Entry[]; longest_min: number };

/** One diary per provider that has any entry. Cancelled appointments are in none. */
export function openDiaries({ appointments, blocks, options }: Question): Map<string, Diary> {
  const entries = new Map<string, Entry[]>();
  const add = (provider_id: string | null, entry: Entry) => {
    if (provider_id === null) return;
    const list = entries.get(provider_id);
    if (list) list.push(entry);
    else entries.set(provider_id, [entry]);
  };
  for (const appointment of appointments) {
    if (appointment.cancelled) continue;
    const { visit_type, facility_ehr_id } = appointment;
    const buffer_min = options.visit_type === 'all' || options.visit_type === visit_type ? options.buffer_min : 0;
    add(options.provider_type === 'secondary' ? appointment.secondary_provider_ehr_id : appointment.provider_ehr_id, {
      kind: 'appointment',
      facility_id: facility_ehr_id,
      visit_type,
      ...minutesOf(appointment, buffer_min),
    });
  }
  for (const block of blocks) {
    const { provider_ehr_id, facility_ehr_id } = block;
    add(provider_ehr_id, { kind: 'block', facility_id: facility_ehr_id, visit_type: null, ...minutesOf(block, 0) });
  }
  return new Map([...entries].map(([provider_id, list]) => [provider_id, sorted(list)]));
}

/** The entries that take some of the range, and those that start in it; a search and a walk over few. */
export function entriesWithin({ entries, longest_min }: Diary, [from, to]: Range): Entry[] {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.start ?? 0) < from - longest_min) low = middle + 1;
    else high = middle;
  }
  const found: Entry[] = [];
  for (let index = low; index < entries.length; index++) {
    const entry = entries[index];
    if (!entry || entry.start >= to) break;
    if (entry.free_at > from || entry.start >= from) found.push(entry);
  }
  return found;
}

/** An entry without a length takes no time, but is counted, and keeps its buffer. */
function minutesOf(entry: { starts_at: Instant; minutes: number }, buffer_min: number) {
  if (!Number.isFinite(entry.minutes)) throw new RangeError(`Not a number of minutes: ${entry.minutes}`);
  const starts_min = instantOf(entry.starts_at) / 60_000;
  const ends_min = starts_min + Math.max(0, entry.minutes);
  const start = Math.floor(starts_min);
  const end = entry.minutes > 0 ? Math.ceil(ends_min) : start;
  if (buffer_min <= 0) return { start, end, buffer_start: end, free_at: end };
  return { start, end, buffer_start: Math.floor(ends_min), free_at: Math.ceil(ends_min + buffer_min) };
}

/** A time we cannot place must not vanish: its hour would be offered twice. */
function instantOf(at: Instant): number {
  const ms = typeof at === 'number' ? at : /(?:Z|[+-]\d\d:?\d\d)$/.test(at) ? Date.parse(at) : Number.NaN;
  if (!Number.isFinite(ms)) throw new RangeError(`Not an instant: ${at}`);
  return ms;
}

function sorted(entries: Entry[]): Diary {
  entries.sort((a, b) => a.start - b.start);
  return { entries, longest_min: entries.reduce((most, { start, free_at }) => Math.max(most, free_at - start), 0) };
}
