import type * as fhir from 'fhir/r4.js';
import type { ProviderSource } from '../../model/records/providers.ts';
import type { ScheduleBlockSource } from '../../model/records/scheduleBlocks.ts';
import { weekdays } from '../../model/weekdays.ts';
import { dayOf } from './clock.ts';
import { type Emr, idIn } from './references.ts';
import { rolesOf } from './roles.ts';
import { clockOf, type Days, day_min, daysIn, diariesOf, type Stretch, stretchesOf, windowOf } from './slots.ts';
import { grouped, list, text } from './values.ts';

type Hours = ProviderSource['hours'];
type Shift = Hours[number]['shifts'][number];

/**
 * When somebody works. Free slots say it to the day, and where there are slots they are all that is worked; without any
 * the weekly times of their roles hold.
 */
export function hoursOf(roles: readonly fhir.PractitionerRole[], slots: readonly Stretch[], timezone: string): Hours {
  const shifts = slots.length > 0 ? fromSlots(slots) : roles.flatMap((role) => fromRole(role, timezone));
  return weekdays
    .map((day) => ({ day, shifts: shifts.filter((each) => each.day === day).map(({ shift }) => shift) }))
    .filter((each) => each.shifts.length > 0);
}

type DayShift = { day: string; shift: Shift };

/** Slots that follow one another at a place are one shift of that day. */
function fromSlots(slots: readonly Stretch[]): DayShift[] {
  const free = slots.filter(({ status }) => status === 'free');
  const places = grouped(free, ({ day, facility_ehr_id }) => `${day} ${facility_ehr_id ?? ''}`);
  return [...places.values()].flatMap((stretches) => {
    const [{ day, facility_ehr_id } = { day: '', facility_ehr_id: null }] = stretches;
    const midnight = `${day}T00:00:00`;
    return joined(stretches).map(([from, to]) => ({
      day: weekdayOf(day),
      shift: { ...shiftOf(from, to, facility_ehr_id), set_start_date: midnight, set_end_date: midnight },
    }));
  });
}

function joined(stretches: readonly Stretch[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const { from_min, minutes } of stretches.toSorted((a, b) => a.from_min - b.from_min)) {
    const last = ranges.at(-1);
    if (last && from_min <= last[1]) last[1] = Math.max(last[1], from_min + minutes);
    else ranges.push([from_min, from_min + minutes]);
  }
  return ranges;
}

function fromRole({ availableTime, location, period }: fhir.PractitionerRole, timezone: string): DayShift[] {
  const places = list(location).map((each) => idIn(each, 'Location'));
  const [start, end] = [dayOf(period?.start, timezone), dayOf(period?.end, timezone)];
  const limits = {
    ...(start !== null && { set_start_date: `${start}T00:00:00` }),
    ...(end !== null && { set_end_date: `${end}T00:00:00` }),
  };
  return list(availableTime).flatMap((time) => {
    const range = rangeOf(time);
    if (!range) return [];
    return list(time.daysOfWeek).flatMap((name) => {
      const day = weekdays.find((each) => each.slice(0, 3).toLowerCase() === name);
      if (!day) return [];
      return (places.length > 0 ? places : [null]).map((place) => ({
        day,
        shift: { ...shiftOf(...range, place), ...limits },
      }));
    });
  });
}

function rangeOf(time: fhir.PractitionerRoleAvailableTime): [number, number] | undefined {
  if (time.allDay === true) return [0, day_min];
  const [from, to] = [minuteOf(time.availableStartTime), minuteOf(time.availableEndTime)];
  return from !== undefined && to !== undefined && from < to ? [from, to] : undefined;
}

function minuteOf(time: string | undefined): number | undefined {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)/.exec(text(time) ?? '') ?? [];
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** Hours as they are read can be written back, and a day written so ends at 23:59. */
function shiftOf(from: number, to: number, facility_id: string | null): Shift {
  const end = Math.min(to, day_min - 1);
  return { start: `T${clockOf(from)}`, end: `T${clockOf(end)}`, ...(facility_id !== null && { facility_id }) };
}

function weekdayOf(day: string): string {
  return weekdays[(new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7] ?? '';
}

/** Time that is taken without an appointment of ours to show for it: slots that are not free, and absences. */
export async function* listScheduleBlocks(emr: Emr): AsyncGenerator<ScheduleBlockSource[]> {
  const days = windowOf(emr.timezone);
  for await (const { matches } of emr.client.search<fhir.Practitioner>('Practitioner', {})) {
    const roles = [...(await rolesOf(emr.client, matches)).values()].flat();
    yield roles.flatMap((role) => absencesOf(role, emr.timezone, days));
    const diaries = await diariesOf(
      emr,
      matches.map(({ id }) => id ?? ''),
      roles,
    );
    for await (const stretches of stretchesOf(emr, diaries, days)) {
      yield stretches.filter(({ status }) => status !== 'free').map(blockOf);
    }
  }
}

export function absencesOf(role: fhir.PractitionerRole, timezone: string, days: Days): ScheduleBlockSource[] {
  const provider_ehr_id = idIn(role.practitioner, 'Practitioner');
  if (provider_ehr_id === null) return [];
  return list(role.notAvailable).flatMap(({ during, description }, n) => {
    // Without a time it says only when somebody is away as a rule, in words.
    if (during === undefined) return [];
    return daysIn(during, timezone, days).map((day) => ({
      ehr_id: `PractitionerRole/${role.id}/${n}/${day}`,
      starts: `${day}T00:00:00`,
      minutes: day_min,
      provider_ehr_id,
      facility_ehr_id: null,
      reason: text(description),
    }));
  });
}

function blockOf(stretch: Stretch): ScheduleBlockSource {
  const { slot_id, day, from_min, minutes, provider_ehr_id, facility_ehr_id, status } = stretch;
  return {
    ehr_id: `${slot_id}/${day}`,
    starts: `${day}T${clockOf(from_min)}`,
    minutes,
    provider_ehr_id,
    facility_ehr_id,
    reason: status === 'busy-unavailable' ? 'unavailable' : null,
  };
}
