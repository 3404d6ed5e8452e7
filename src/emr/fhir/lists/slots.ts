import type * as fhir from 'fhir/r4.js';
import { addDays } from '../../../platform/time/days.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import { dayOf, daysAround, wallTime } from '../clock.ts';
import { canSearch, type Emr, findReferencing, inChunks, type Resolver, refId, refIds } from '../references.ts';
import { groupBy, list, text } from '../values.ts';

/** The provider and the location of a schedule. */
export type ScheduleOwner = { provider_ehr_id: string; facility_ehr_id: string | null };

/** The part of a slot on one day, in local time. It never extends past midnight. */
export type SlotPart = ScheduleOwner & {
  slot_id: string;
  status: string;
  day: string;
  from_min: number;
  minutes: number;
};

/** First and last date, inclusive. */
export type DateRange = [from: string, to: string];

/** The types that a practitioner's record, and hours and blocked time, are made of. */
export const role_types = ['Practitioner', 'PractitionerRole'] as const;
export const slot_types = ['Schedule', 'Slot'] as const;

/** Availability covers at most 92 days. */
const ahead_days = 92;

/**
 * The owners of these practitioners' schedules, by schedule id. A schedule may belong to a practitioner or to a role.
 */
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

/** A schedule of several practitioners is assigned to the first one only. */
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

/**
 * The owners of the slots of these appointments, by appointment id. Only for those that name no provider themselves: some
 * servers leave it to the slot.
 */
export async function loadSlotOwners(
  { capabilities }: Emr['client'],
  appointments: readonly fhir.Appointment[],
  resolver: Resolver,
): Promise<ReadonlyMap<string, ScheduleOwner>> {
  const owners = new Map<string, ScheduleOwner>();
  if (slot_types.some((type) => capabilities.isForbidden(type))) return owners;
  const booked = appointments.flatMap(({ id = '', slot, participant }) => {
    const actors = list(participant).map(({ actor }) => actor);
    const named = role_types.some((type) => refIds(actors, type).length > 0);
    const [slot_id] = refIds(list(slot), 'Slot');
    return named || slot_id === undefined ? [] : [{ id, slot_id }];
  });
  const slots = await resolver.load<fhir.Slot>(
    'Slot',
    booked.map(({ slot_id }) => slot_id),
  );
  const schedule_ids = refIds(
    [...slots.values()].map(({ schedule }) => schedule),
    'Schedule',
  );
  const schedules = await resolver.load<fhir.Schedule>('Schedule', schedule_ids);
  const role_ids = refIds(
    [...schedules.values()].flatMap(({ actor }) => list(actor)),
    'PractitionerRole',
  );
  const roles = await resolver.load<fhir.PractitionerRole>('PractitionerRole', role_ids);
  for (const { id, slot_id } of booked) {
    const schedule = schedules.get(refId(slots.get(slot_id)?.schedule, 'Schedule') ?? '');
    const owner = schedule && scheduleOwner(schedule, [...roles.values()]);
    if (owner) owners.set(id, owner);
  }
  return owners;
}

/** The slots of these schedules in a date range, page by page. */
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

/** Today and as far ahead as availability can be requested. */
export function availabilityWindow(timezone: string): DateRange {
  const today = todayIn(timezone);
  return [today, addDays(today, ahead_days)];
}

/** A slot is 300 bytes, and a practice of eight providers has about 30,000 in three months. */
const slots_per_page = 500;

function toSlotParts(slot: fhir.Slot, owner: ScheduleOwner, timezone: string): SlotPart[] {
  const starts = wallTime(slot.start, timezone);
  const minutes = Math.round((Date.parse(slot.end) - Date.parse(slot.start)) / 60_000);
  if (slot.status === 'entered-in-error' || starts === null || !(minutes > 0)) return [];
  const common = { ...owner, slot_id: slot.id ?? '', status: text(slot.status) ?? 'busy' };
  return splitAtMidnight(starts, minutes).map((part) => ({ ...common, ...part }));
}

/** Splits at midnight, because availability reads blocks by the day on which they start. */
function splitAtMidnight(starts: string, minutes: number): { day: string; from_min: number; minutes: number }[] {
  const parts: { day: string; from_min: number; minutes: number }[] = [];
  let [day, from_min, left] = [starts.slice(0, 10), minuteIn(starts), Math.min(minutes, days_max * day_min)];
  while (left > 0) {
    const length = Math.min(left, day_min - from_min);
    parts.push({ day, from_min, minutes: length });
    [day, from_min, left] = [addDays(day, 1), 0, left - length];
  }
  return parts;
}

/** The dates of a range that are in a period. A period without an end is open. */
export function daysInPeriod(period: fhir.Period | undefined, timezone: string, [from, to]: DateRange): string[] {
  const [start, end] = [dayOf(period?.start, timezone) ?? from, dayOf(period?.end, timezone) ?? to];
  const days: string[] = [];
  for (let day = start > from ? start : from; day <= to && day <= end; day = addDays(day, 1)) days.push(day);
  return days;
}

export const day_min = 24 * 60;
const days_max = 366;

function minuteIn(local: string): number {
  return Number(local.slice(11, 13)) * 60 + Number(local.slice(14, 16));
}

/** `09:30:00` */
export function formatMinute(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`;
}

/** The current roles of these practitioners, by practitioner id. */
export async function loadRoles(
  client: Emr['client'],
  people: readonly fhir.Practitioner[],
): Promise<ReadonlyMap<string, fhir.PractitionerRole[]>> {
  const references = people.map(({ id }) => `Practitioner/${id}`);
  const found = await findReferencing<fhir.PractitionerRole>(client, 'PractitionerRole', ['practitioner'], references);
  const current = found.filter(({ active }) => active !== false);
  return groupBy(current, (role) => refId(role.practitioner, 'Practitioner') ?? '');
}
