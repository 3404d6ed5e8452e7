import type * as fhir from 'fhir/r4.js';
import { addDays, isDate } from '../../../platform/time/days.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import {
  canSearch,
  type Emr,
  findReferencing,
  inChunks,
  loadReferredRoles,
  type Resolver,
  readActors,
  refId,
  refIds,
} from '../references.ts';
import { first, groupBy, list, searchDays, text, toLocalTime } from '../values.ts';

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

export const day_min = 24 * 60;

/** Today and as far ahead as availability can be requested. */
export function availabilityWindow(timezone: string): DateRange {
  const today = todayIn(timezone);
  return [today, addDays(today, ahead_days)];
}

/** Availability covers at most 92 days. */
const ahead_days = 92;

/** The current roles of these practitioners, by practitioner id. */
export async function loadRoles(
  client: Emr['client'],
  practitioner_ids: readonly string[],
): Promise<ReadonlyMap<string, fhir.PractitionerRole[]>> {
  const references = practitioner_ids.map((id) => `Practitioner/${id}`);
  const roles = await findReferencing<fhir.PractitionerRole>(client, 'PractitionerRole', ['practitioner'], references);
  const current = roles.filter(({ active }) => active !== false);
  return groupBy(current, (role) => refId(role.practitioner, 'Practitioner') ?? '');
}

/** The roles of these practitioners by practitioner id, and the owners of their schedules by schedule id. */
export async function loadSchedules(
  { client }: Emr,
  practitioner_ids: readonly string[],
): Promise<{ roles: Awaited<ReturnType<typeof loadRoles>>; owners: ReadonlyMap<string, ScheduleOwner> }> {
  const roles = await loadRoles(client, practitioner_ids);
  const all_roles = [...roles.values()].flat();
  // A schedule may belong to a practitioner or to a role.
  const actors = [
    ...practitioner_ids.map((id) => `Practitioner/${id}`),
    ...all_roles.map(({ id }) => `PractitionerRole/${id}`),
  ];
  const schedules = await findReferencing<fhir.Schedule>(client, 'Schedule', ['actor'], actors);
  const owners = schedules
    .filter(({ active }) => active !== false)
    .map((schedule) => [schedule.id ?? '', findOwner(schedule, all_roles)] as const);
  return { roles, owners: new Map(owners.flatMap(([id, owner]) => (owner ? [[id, owner]] : []))) };
}

/** A schedule of several practitioners is assigned to the first one only. */
function findOwner({ actor }: fhir.Schedule, roles: readonly fhir.PractitionerRole[]): ScheduleOwner | undefined {
  const actors = list(actor);
  const role_id = first(actors, (each) => refId(each, 'PractitionerRole'));
  const role = roles.find(({ id }) => id === role_id);
  const provider_ehr_id =
    first(actors, (each) => refId(each, 'Practitioner')) ?? refId(role?.practitioner, 'Practitioner');
  if (provider_ehr_id === null) return undefined;
  const facility_ehr_id = first([...actors, ...list(role?.location)], (each) => refId(each, 'Location'));
  return { provider_ehr_id, facility_ehr_id };
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
    const actors = readActors({ participant });
    const names_provider = role_types.some((type) => refIds(actors, type).length > 0);
    const [slot_id] = refIds(list(slot), 'Slot');
    return names_provider || slot_id === undefined ? [] : [{ id, slot_id }];
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
  const actors = [...schedules.values()].flatMap(({ actor }) => list(actor));
  const roles = await loadReferredRoles(resolver, actors);
  for (const { id, slot_id } of booked) {
    const schedule = schedules.get(refId(slots.get(slot_id)?.schedule, 'Schedule') ?? '');
    const owner = schedule && findOwner(schedule, [...roles.values()]);
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
    const params = { schedule, start: searchDays(from, to), _count: String(slots_per_page) };
    for await (const { matches } of client.search<fhir.Slot>('Slot', params)) {
      yield matches.flatMap((slot) => {
        const owner = owners.get(refId(slot.schedule, 'Schedule') ?? '');
        return owner ? toSlotParts(slot, owner, timezone).filter(({ day }) => day >= from && day <= to) : [];
      });
    }
  }
}

/** A slot is 300 bytes, and a practice of eight providers has about 30,000 in three months. */
const slots_per_page = 500;

export function toSlotParts(slot: fhir.Slot, owner: ScheduleOwner, timezone: string): SlotPart[] {
  const starts = toLocalTime(slot.start, timezone);
  const minutes = Math.round((Date.parse(slot.end) - Date.parse(slot.start)) / 60_000);
  if (slot.status === 'entered-in-error' || starts === null || !(minutes > 0)) return [];
  const common = { ...owner, slot_id: slot.id ?? '', status: text(slot.status) ?? 'busy' };
  return splitAtMidnight(starts, minutes).map((part) => ({ ...common, ...part }));
}

/** Splits at midnight, because availability reads blocks by the day on which they start. */
function splitAtMidnight(starts: string, minutes: number): { day: string; from_min: number; minutes: number }[] {
  const parts: { day: string; from_min: number; minutes: number }[] = [];
  let [day, from_min, left] = [starts.slice(0, 10), readMinute(starts), Math.min(minutes, slot_days_max * day_min)];
  // There is no day after 9999-12-31.
  while (left > 0 && isDate(day)) {
    const length = Math.min(left, day_min - from_min);
    parts.push({ day, from_min, minutes: length });
    [day, from_min, left] = [addDays(day, 1), 0, left - length];
  }
  return parts;
}

/** Longer slots are cut off. */
const slot_days_max = 366;

function readMinute(local: string): number {
  return Number(local.slice(11, 13)) * 60 + Number(local.slice(14, 16));
}

/** `09:30:00` */
export function formatMinute(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`;
}
