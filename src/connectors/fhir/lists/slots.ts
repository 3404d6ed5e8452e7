import type * as fhir from 'fhir/r4.js';
import { addDays, dayOf, daysAround, todayIn, wallTime } from '../clock.ts';
import { canSearch, type Emr, findReferencing, inChunks, refId } from '../references.ts';
import { groupBy, list, text } from '../values.ts';

/** Whose a schedule is, and where it is kept. */
export type ScheduleOwner = { provider_ehr_id: string; facility_ehr_id: string | null };

/** Time in a diary, by the clock of the practice. `minutes` never reaches into the next day. */
export type SlotPart = ScheduleOwner & {
  slot_id: string;
  status: string;
  day: string;
  from_min: number;
  minutes: number;
};

/** The first day and the last, both included. */
export type DateRange = [from: string, to: string];

/** Availability is asked for at most 92 days together; what lies further ahead is read when its time comes. */
const ahead_days = 92;

/** The diaries of these people, by the schedule's id. A schedule may be kept for a person or for one of their roles. */
export async function loadScheduleOwners(
  { client }: Emr,
  practitioner_ids: readonly string[],
  roles: readonly fhir.PractitionerRole[],
): Promise<ReadonlyMap<string, ScheduleOwner>> {
  const actors = [
    ...practitioner_ids.map((id) => `Practitioner/${id}`),
    ...roles.map(({ id }) => `PractitionerRole/${id}`),
  ];
  const schedules = await findReferencing<fhir.Schedule>(client, 'Schedule', ['actor'], actors);
  const pairs = schedules
    .filter(({ active }) => active !== false)
    .map((schedule): [string, ScheduleOwner | undefined] => [schedule.id ?? '', scheduleOwner(schedule, roles)]);
  return new Map(pairs.filter((pair): pair is [string, ScheduleOwner] => pair[1] !== undefined));
}

/** One that is kept for several people would be everybody's time and nobody's: only the first is taken. */
function scheduleOwner({ actor }: fhir.Schedule, roles: readonly fhir.PractitionerRole[]): ScheduleOwner | undefined {
  const actors = list(actor);
  const role_id = actors.map((each) => refId(each, 'PractitionerRole')).find((id) => id !== null);
  const role = roles.find(({ id }) => id === role_id);
  const person = actors.map((each) => refId(each, 'Practitioner')).find((id) => id !== null);
  const provider_ehr_id = person ?? refId(role?.practitioner, 'Practitioner');
  if (provider_ehr_id === null || provider_ehr_id === undefined) return undefined;
  const place = [...actors, ...list(role?.location)].map((each) => refId(each, 'Location')).find((id) => id !== null);
  return { provider_ehr_id, facility_ehr_id: place ?? null };
}

/** The slots of these diaries on some days, page by page. */
export async function* readSlots(
  { client, timezone }: Emr,
  owners: ReadonlyMap<string, ScheduleOwner>,
  [from, to]: DateRange,
): AsyncGenerator<SlotPart[]> {
  if (!canSearch(client, 'Slot', ['schedule', 'start'])) return;
  for (const chunk of inChunks([...owners.keys()])) {
    const schedule = chunk.map((id) => `Schedule/${id}`).join(',');
    const params = { schedule, start: daysAround(from, to), _count: String(slots_per_page) };
    for await (const { matches } of client.search<fhir.Slot>('Slot', params)) {
      yield matches.flatMap((slot) => {
        const owner = owners.get(refId(slot.schedule, 'Schedule') ?? '');
        return owner ? toSlotParts(slot, owner, timezone).filter(({ day }) => day >= from && day <= to) : [];
      });
    }
  }
}

/** The days that are looked at: today and as far ahead as availability may be asked for. */
export function availabilityWindow(timezone: string): DateRange {
  const today = todayIn(timezone);
  return [today, addDays(today, ahead_days)];
}

/** A slot weighs 300 bytes, and a practice of eight people has some 30,000 of them in a quarter. */
const slots_per_page = 500;

function toSlotParts(slot: fhir.Slot, owner: ScheduleOwner, timezone: string): SlotPart[] {
  const starts = wallTime(slot.start, timezone);
  const minutes = Math.round((Date.parse(slot.end) - Date.parse(slot.start)) / 60_000);
  if (slot.status === 'entered-in-error' || starts === null || !(minutes > 0)) return [];
  const of = { ...owner, slot_id: slot.id ?? '', status: text(slot.status) ?? 'busy' };
  return splitAtMidnight(starts, minutes).map((part) => ({ ...of, ...part }));
}

/** Cuts time at midnight: what is asked of a day is read by the day on which it begins. */
function splitAtMidnight(starts: string, minutes: number): { day: string; from_min: number; minutes: number }[] {
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
export function daysInPeriod(period: fhir.Period | undefined, timezone: string, [from, to]: DateRange): string[] {
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
export function formatMinute(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`;
}

/** What these people do here, by their ids; roles that have ended are passed over. */
export async function loadRoles(
  client: Emr['client'],
  people: readonly fhir.Practitioner[],
): Promise<ReadonlyMap<string, fhir.PractitionerRole[]>> {
  const references = people.map(({ id }) => `Practitioner/${id}`);
  const found = await findReferencing<fhir.PractitionerRole>(client, 'PractitionerRole', ['practitioner'], references);
  const current = found.filter(({ active }) => active !== false);
  return groupBy(current, (role) => refId(role.practitioner, 'Practitioner') ?? '');
}
