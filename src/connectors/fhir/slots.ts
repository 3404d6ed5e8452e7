import type * as fhir from 'fhir/r4.js';
import { addDays } from '../../time/days.ts';
import { todayIn } from '../../time/zones.ts';
import { dayOf, daysAround, wallTime } from './clock.ts';
import { canSearch, type Emr, idIn, inChunks, referringTo } from './references.ts';
import { list, text } from './values.ts';

/** Whose a schedule is, and where it is kept. */
export type Diary = { provider_ehr_id: string; facility_ehr_id: string | null };

/** Time in a diary, by the clock of the practice. `minutes` never reaches into the next day. */
export type Stretch = Diary & { slot_id: string; status: string; day: string; from_min: number; minutes: number };

/** The first day and the last, both included. */
export type Days = [from: string, to: string];

/** Availability is asked for at most 92 days together; what lies further ahead is read when its time comes. */
const ahead_days = 92;

/** The diaries of these people, by the schedule's id. A schedule may be kept for a person or for one of their roles. */
export async function diariesOf(
  { client }: Emr,
  practitioner_ids: readonly string[],
  roles: readonly fhir.PractitionerRole[],
): Promise<ReadonlyMap<string, Diary>> {
  const actors = [
    ...practitioner_ids.map((id) => `Practitioner/${id}`),
    ...roles.map(({ id }) => `PractitionerRole/${id}`),
  ];
  const schedules = await referringTo<fhir.Schedule>(client, 'Schedule', ['actor'], actors);
  const pairs = schedules
    .filter(({ active }) => active !== false)
    .map((schedule): [string, Diary | undefined] => [schedule.id ?? '', diaryOf(schedule, roles)]);
  return new Map(pairs.filter((pair): pair is [string, Diary] => pair[1] !== undefined));
}

/** One that is kept for several people would be everybody's time and nobody's: only the first is taken. */
function diaryOf({ actor }: fhir.Schedule, roles: readonly fhir.PractitionerRole[]): Diary | undefined {
  const actors = list(actor);
  const role_id = actors.map((each) => idIn(each, 'PractitionerRole')).find((id) => id !== null);
  const role = roles.find(({ id }) => id === role_id);
  const person = actors.map((each) => idIn(each, 'Practitioner')).find((id) => id !== null);
  const provider_ehr_id = person ?? idIn(role?.practitioner, 'Practitioner');
  if (provider_ehr_id === null || provider_ehr_id === undefined) return undefined;
  const place = [...actors, ...list(role?.location)].map((each) => idIn(each, 'Location')).find((id) => id !== null);
  return { provider_ehr_id, facility_ehr_id: place ?? null };
}

/** The slots of these diaries on some days, page by page. */
export async function* stretchesOf(
  { client, timezone }: Emr,
  diaries: ReadonlyMap<string, Diary>,
  [from, to]: Days,
): AsyncGenerator<Stretch[]> {
  if (!canSearch(client, 'Slot', ['schedule', 'start'])) return;
  for (const chunk of inChunks([...diaries.keys()])) {
    const schedule = chunk.map((id) => `Schedule/${id}`).join(',');
    const params = { schedule, start: daysAround(from, to), _count: String(slots_per_page) };
    for await (const { matches } of client.search<fhir.Slot>('Slot', params)) {
      yield matches.flatMap((slot) => {
        const diary = diaries.get(idIn(slot.schedule, 'Schedule') ?? '');
        return diary ? stretchOf(slot, diary, timezone).filter(({ day }) => day >= from && day <= to) : [];
      });
    }
  }
}

/** The days that are looked at: today and as far ahead as availability may be asked for. */
export function windowOf(timezone: string): Days {
  const today = todayIn(timezone);
  return [today, addDays(today, ahead_days)];
}

/** A slot weighs 300 bytes, and a practice of eight people has some 30,000 of them in a quarter. */
const slots_per_page = 500;

function stretchOf(slot: fhir.Slot, diary: Diary, timezone: string): Stretch[] {
  const starts = wallTime(slot.start, timezone);
  const minutes = Math.round((Date.parse(slot.end) - Date.parse(slot.start)) / 60_000);
  if (slot.status === 'entered-in-error' || starts === null || !(minutes > 0)) return [];
  const of = { ...diary, slot_id: slot.id ?? '', status: text(slot.status) ?? 'busy' };
  return byDay(starts, minutes).map((part) => ({ ...of, ...part }));
}

/** Cuts time at midnight: what is asked of a day is read by the day on which it begins. */
function byDay(starts: string, minutes: number): { day: string; from_min: number; minutes: number }[] {
  const parts: { day: string; from_min: number; minutes: number }[] = [];
  let [day, from_min, left] = [starts.slice(0, 10), minuteIn(starts), Math.min(minutes, days_max * day_min)];
  while (left > 0) {
    const now = Math.min(left, day_min - from_min);
    parts.push({ day, from_min, minutes: now });
    [day, from_min, left] = [addDays(day, 1), 0, left - now];
  }
  return parts;
}

/** Those of the days that lie in a period; without an end it goes on. */
export function daysIn(period: fhir.Period | undefined, timezone: string, [from, to]: Days): string[] {
  const [start, end] = [dayOf(period?.start, timezone) ?? from, dayOf(period?.end, timezone) ?? to];
  const days: string[] = [];
  for (let day = start > from ? start : from; day <= to && day <= end; day = addDays(day, 1)) days.push(day);
  return days;
}

export const day_min = 24 * 60;
const days_max = 366;

function minuteIn(shown: string): number {
  return Number(shown.slice(11, 13)) * 60 + Number(shown.slice(14, 16));
}

/** `09:30:00` */
export function clockOf(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`;
}
