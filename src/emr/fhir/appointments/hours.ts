import type * as fhir from 'fhir/r4.js';
import type { ProviderSource } from '../../../model/records/providers.ts';
import type { ScheduleBlockSource } from '../../../model/records/scheduleBlocks.ts';
import { weekdays } from '../../../model/settings.ts';
import { addDays } from '../../../platform/time/days.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import type { LiveSchedule, ScheduleSearch } from '../../operations/appointments.ts';
import { collect, type Listing, type ListPage } from '../../operations/operation.ts';
import { readList } from '../listReads.ts';
import { anyChanged, wholeList } from '../lists.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { canSearch, type Emr, refId } from '../references.ts';
import { lists, searches } from '../transport/capabilities.ts';
import { groupBy, list, text, toDay, toLocalTime } from '../values.ts';
import { finds_service_slots, findsServiceSlots, loadServiceSlots } from './serviceSlots.ts';
import {
  availabilityWindow,
  type DateRange,
  day_min,
  formatMinute,
  loadSchedules,
  readSlots,
  role_types,
  type ScheduleOwner,
  type SlotPart,
  slot_types,
} from './slots.ts';

type Hours = ProviderSource['hours'];
type Shift = Hours[number]['shifts'][number];

/**
 * Working hours. If there are slots, the free ones are the working hours; otherwise the weekly times of the roles
 * apply.
 */
export function toHours(roles: readonly fhir.PractitionerRole[], slots: readonly SlotPart[], timezone: string): Hours {
  const shifts = slots.length > 0 ? shiftsFromSlots(slots) : roles.flatMap((role) => shiftsFromRole(role, timezone));
  return weekdays
    .map((day) => ({ day, shifts: shifts.filter((each) => each.day === day).map(({ shift }) => shift) }))
    .filter((each) => each.shifts.length > 0);
}

type DayShift = { day: string; shift: Shift };

/** Consecutive slots at one location form one shift. */
function shiftsFromSlots(slots: readonly SlotPart[]): DayShift[] {
  const free = slots.filter(({ status }) => status === 'free');
  const places = groupBy(free, ({ day, facility_ehr_id }) => `${day} ${facility_ehr_id ?? ''}`);
  return [...places.values()].flatMap((parts) => {
    const [{ day, facility_ehr_id } = { day: '', facility_ehr_id: null }] = parts;
    const midnight = `${day}T00:00:00`;
    return joinRanges(parts).map(([from, to]) => ({
      day: toWeekday(day),
      shift: { ...toShift(from, to, facility_ehr_id), set_start_date: midnight, set_end_date: midnight },
    }));
  });
}

function joinRanges(parts: readonly SlotPart[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const { from_min, minutes } of parts.toSorted((a, b) => a.from_min - b.from_min)) {
    const last = ranges.at(-1);
    if (last && from_min <= last[1]) last[1] = Math.max(last[1], from_min + minutes);
    else ranges.push([from_min, from_min + minutes]);
  }
  return ranges;
}

function shiftsFromRole({ availableTime, location, period }: fhir.PractitionerRole, timezone: string): DayShift[] {
  const places = list(location).map((each) => refId(each, 'Location'));
  const [start, end] = [toDay(period?.start, timezone), toDay(period?.end, timezone)];
  const limits = {
    ...(start !== null && { set_start_date: `${start}T00:00:00` }),
    ...(end !== null && { set_end_date: `${end}T00:00:00` }),
  };
  return list(availableTime).flatMap((time) => {
    const range = readTimeRange(time);
    if (!range) return [];
    return list(time.daysOfWeek).flatMap((name) => {
      const day = weekdays.find((each) => each.slice(0, 3).toLowerCase() === name);
      if (!day) return [];
      return (places.length > 0 ? places : [null]).map((place) => ({
        day,
        shift: { ...toShift(...range, place), ...limits },
      }));
    });
  });
}

function readTimeRange(time: fhir.PractitionerRoleAvailableTime): [number, number] | undefined {
  if (time.allDay === true) return [0, day_min];
  const from = parseMinute(time.availableStartTime);
  const to = parseEndMinute(time.availableEndTime, from);
  return from !== undefined && to !== undefined && from < to ? [from, to] : undefined;
}

function parseMinute(time: string | undefined): number | undefined {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)/.exec(text(time) ?? '') ?? [];
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** FHIR has no 24:00, so servers write the end of the day as 23:59:59 or 00:00. From 00:00 to 00:00 may be no time. */
function parseEndMinute(time: string | undefined, from: number | undefined): number | undefined {
  const to = parseMinute(time);
  return /^23:59:59/.test(text(time) ?? '') || (to === 0 && from !== 0) ? day_min : to;
}

function toShift(from: number, to: number, facility_id: string | null): Shift {
  return {
    start: `T${formatMinute(from)}`,
    end: `T${formatMinute(to)}`,
    ...(facility_id !== null && { facility_id }),
  };
}

function toWeekday(day: string): string {
  return weekdays[(new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7] ?? '';
}

/** Blocked time: slots that are not free, and absences. A slot that becomes free ends a block instead of changing it, so blocks are read as a whole. */
export function scheduleBlocks(emr: Emr): Listing<ScheduleBlockSource> {
  const types = [...role_types, ...slot_types];
  const hasChanged = async (since: string) =>
    // The list covers the days from today on.
    toLocalTime(since, emr.timezone)?.slice(0, 10) !== todayIn(emr.timezone) || anyChanged(emr, types, since);
  return wholeList(emr, types, () => listScheduleBlocks(emr), hasChanged);
}

async function* listScheduleBlocks(emr: Emr): AsyncGenerator<ListPage<ScheduleBlockSource>> {
  const days = availabilityWindow(emr.timezone);
  for await (const { matches, partial } of readList<fhir.Practitioner>(emr, 'Practitioner')) {
    const limits = partial && { partial };
    const ids = matches.map(({ id }) => id ?? '');
    const { roles, owners } = await loadSchedules(emr, ids);
    const absences = [...roles.values()].flat().flatMap((role) => toAbsences(role, emr.timezone, days));
    yield Object.assign(absences, limits);
    for await (const parts of readSlots(emr, owners, days)) {
      yield parts.filter(({ status }) => status !== 'free').map(toScheduleBlock);
    }
  }
}

/**
 * Hours and blocks of these providers. A provider who has slots, but none in these days, does not work then: the weekly
 * times of the roles apply only to those without any.
 */
export async function getSchedule(
  emr: Emr,
  { days: { from, to }, provider_ehr_ids }: ScheduleSearch,
): Promise<LiveSchedule> {
  const { roles, owners } = await loadSchedules(emr, provider_ehr_ids);
  // Such a server books slots only: without any, a provider does not work.
  const by_service = !canSearch(emr.client, 'Slot', ['schedule', 'start']) && findsServiceSlots(emr.client);
  const parts = by_service
    ? await loadServiceSlots(emr, provider_ehr_ids, [from, to])
    : await collect(readSlots(emr, owners, [from, to]));
  const slots = groupBy(parts, ({ provider_ehr_id }) => provider_ehr_id);
  const hours: LiveSchedule['hours'] = [];
  for (const provider_ehr_id of provider_ehr_ids) {
    const own_roles = roles.get(provider_ehr_id) ?? [];
    const own_slots = slots.get(provider_ehr_id) ?? [];
    const schedules = new Map([...owners].filter(([, owner]) => owner.provider_ehr_id === provider_ehr_id));
    if (own_roles.length + schedules.size === 0 && !by_service) continue;
    const uses_slots = by_service || own_slots.length > 0 || (await hasSlots(emr, schedules));
    const shifts = uses_slots ? toHours([], own_slots, emr.timezone) : toHours(own_roles, [], emr.timezone);
    hours.push({ provider_ehr_id, hours: shifts });
  }
  const absences = [...roles.values()].flat().flatMap((role) => toAbsences(role, emr.timezone, [from, to]));
  const closed = [...slots.values()].flat().filter(({ status }) => status !== 'free');
  return { hours, blocks: [...absences, ...closed.map(toScheduleBlock)] };
}

/** Whether a sync finds slots in these schedules. */
async function hasSlots(emr: Emr, schedules: ReadonlyMap<string, ScheduleOwner>): Promise<boolean> {
  for await (const parts of readSlots(emr, schedules, availabilityWindow(emr.timezone))) {
    if (parts.length > 0) return true;
  }
  return false;
}

function toScheduleBlock(part: SlotPart): ScheduleBlockSource {
  const { slot_id, day, from_min, minutes, provider_ehr_id, facility_ehr_id, status } = part;
  return {
    ehr_id: `${slot_id}/${day}`,
    starts: `${day}T${formatMinute(from_min)}`,
    minutes,
    provider_ehr_id,
    facility_ehr_id,
    reason: status === 'busy-unavailable' ? 'unavailable' : null,
  };
}

/** The days of a range on which a practitioner is absent. */
export function toAbsences(role: fhir.PractitionerRole, timezone: string, days: DateRange): ScheduleBlockSource[] {
  const provider_ehr_id = refId(role.practitioner, 'Practitioner');
  if (provider_ehr_id === null) return [];
  return list(role.notAvailable).flatMap(({ during, description }, n) => {
    // Without dates it is only a description of usual absences.
    if (during === undefined) return [];
    return daysInPeriod(during, timezone, days).map((day) => ({
      ehr_id: `PractitionerRole/${role.id}/${n}/${day}`,
      starts: `${day}T00:00:00`,
      minutes: day_min,
      provider_ehr_id,
      facility_ehr_id: null,
      reason: text(description),
    }));
  });
}

/** The dates of a range that are in a period. A period without an end is open. */
function daysInPeriod(period: fhir.Period | undefined, timezone: string, [from, to]: DateRange): string[] {
  const [start, end] = [toDay(period?.start, timezone) ?? from, toDay(period?.end, timezone) ?? to];
  const days: string[] = [];
  for (let day = start > from ? start : from; day <= to && day <= end; day = addDays(day, 1)) days.push(day);
  return days;
}

export const schedule_operations: readonly FhirOperation[] = [
  {
    operation: 'listScheduleBlocks',
    requires: [lists('Practitioner'), searches('Schedule', 'actor'), searches('Slot', 'schedule', 'start')],
    open: scheduleBlocks,
  },
  {
    operation: 'getSchedule',
    requires: [
      lists('Practitioner'),
      // Hours come from one of these. Without any, everybody would seem to be absent.
      {
        ...searches('PractitionerRole', 'practitioner'),
        or: { ...searches('Schedule', 'actor'), or: finds_service_slots },
      },
    ],
    open: reading(getSchedule),
  },
];
