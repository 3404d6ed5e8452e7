import type * as fhir from 'fhir/r4.js';
import { instantOf } from '../../../platform/time/zones.ts';
import { EmrFailure } from '../../connector.ts';
import { collect } from '../../operations.ts';
import { daysAround, wallTime } from '../clock.ts';
import { isTimeFree, minutesOf, providersOf } from '../lists/appointments.ts';
import { toAbsences } from '../lists/hours.ts';
import {
  formatMinute,
  loadRoles,
  loadScheduleOwners,
  loadSlotOwners,
  readSlots,
  type SlotPart,
} from '../lists/slots.ts';
import { canSearch, createResolver, type Emr, findReferencing, refId, refIds } from '../references.ts';
import type { SearchParams } from '../transport/client.ts';
import { list } from '../values.ts';

/** A requested time. `id` is the appointment once it exists. */
export type Booking = {
  id: string | undefined;
  provider_ehr_id: string;
  location_ehr_id: string;
  /** Local time at the practice, with its offset. */
  starts_at: string;
  from_ms: number;
  to_ms: number;
};

export type Conflict = { type: 'appointment' | 'block'; details: string; appointment?: fhir.Appointment };

/** Everything that occupies the provider at this time, appointments first. */
export async function findConflicts(emr: Emr, booking: Booking, of?: 'appointments'): Promise<Conflict[]> {
  const appointments = await findOverlapping(emr, booking);
  const conflicts = appointments.map((appointment) => conflictWith(appointment, emr.timezone));
  return of === 'appointments' ? conflicts : [...conflicts, ...(await findBlocks(emr, booking))];
}

function conflictWith(appointment: fhir.Appointment, timezone: string): Conflict {
  const times = [appointment.start, appointment.end].map((at) => wallTime(at, timezone)?.slice(11, 16) ?? '?');
  return { type: 'appointment', details: `The provider has an appointment from ${times.join(' to ')}.`, appointment };
}

export function throwOnConflict(conflict: Conflict | undefined): void {
  if (conflict) throw conflictFailure(conflict);
}

export function conflictFailure({ type, details }: Conflict): EmrFailure {
  return new EmrFailure('refused', `The provider is not free at this time. ${details}`, {
    code: 'slot_taken',
    details: { conflict_type: type, conflict_details: details },
  });
}

/** The provider's free slot that starts at this time. */
export async function findFreeSlot(
  emr: Emr,
  provider_ehr_id: string,
  starts_at: string,
): Promise<SlotPart | undefined> {
  const parts = await slotsOn(emr, provider_ehr_id, starts_at.slice(0, 10));
  const clock = `${starts_at.slice(11, 16)}:00`;
  return parts.find(({ status, from_min }) => status === 'free' && formatMinute(from_min) === clock);
}

async function findOverlapping({ client, timezone }: Emr, booking: Booking): Promise<fhir.Appointment[]> {
  const day = booking.starts_at.slice(0, 10);
  const params = {
    date: daysAround(day, wallTime(new Date(booking.to_ms).toISOString(), timezone)?.slice(0, 10) ?? day),
    ...(await participantParams(client, booking.provider_ehr_id)),
  };
  const found = await client.searchAll<fhir.Appointment>('Appointment', params);
  const actors = found.flatMap(({ participant }) => list(participant).map(({ actor }) => actor));
  const role_ids = refIds(actors, 'PractitionerRole');
  const resolver = createResolver(client);
  const roles = await resolver.load<fhir.PractitionerRole>('PractitionerRole', role_ids);
  const owners = await loadSlotOwners(client, found, resolver);
  return found.filter((each) => {
    const from_ms = Date.parse(each.start ?? '');
    const to_ms = from_ms + minutesOf(each) * 60_000;
    const has_provider = providersOf(each, { roles, owners }).includes(booking.provider_ehr_id);
    return (
      each.id !== booking.id && has_provider && !isTimeFree(each) && from_ms < booking.to_ms && to_ms > booking.from_ms
    );
  });
}

/** A provider may participate directly or through a role, which a search by `practitioner` does not find. */
async function participantParams(client: Emr['client'], provider_ehr_id: string): Promise<SearchParams> {
  const roles = (await loadRoles(client, [practitionerWithId(provider_ehr_id)])).get(provider_ehr_id) ?? [];
  const self = `Practitioner/${provider_ehr_id}`;
  if (canSearch(client, 'Appointment', ['actor'])) {
    return { actor: [self, ...roles.map(({ id }) => `PractitionerRole/${id}`)].join(',') };
  }
  return roles.length === 0 && canSearch(client, 'Appointment', ['practitioner']) ? { practitioner: self } : {};
}

async function findBlocks(emr: Emr, booking: Booking): Promise<Conflict[]> {
  const { provider_ehr_id, starts_at, from_ms, to_ms } = booking;
  const day = starts_at.slice(0, 10);
  const overlaps = (starts: string, minutes: number) => {
    const at_ms = instantOf(starts, emr.timezone);
    return at_ms < to_ms && at_ms + minutes * 60_000 > from_ms;
  };
  const roles = (await loadRoles(emr.client, [practitionerWithId(provider_ehr_id)])).get(provider_ehr_id) ?? [];
  const absences = roles.flatMap((role) => toAbsences(role, emr.timezone, [day, day]));
  const absence = absences.find(({ starts, minutes }) => overlaps(starts, minutes));
  const blocked_slot = (await slotsOn(emr, provider_ehr_id, day)).find(
    (slot) => slot.status !== 'free' && overlaps(`${slot.day}T${formatMinute(slot.from_min)}`, slot.minutes),
  );
  return [
    ...(absence ? [{ type: 'block' as const, details: 'The provider is not available on this day.' }] : []),
    ...(blocked_slot ? [await blockedBy(emr, blocked_slot)] : []),
    ...(await findClosedPlaces(emr, booking, roles)),
  ];
}

/** A busy slot is an appointment if one is booked into it: its participants may not include the provider. */
async function blockedBy({ client, timezone }: Emr, { slot_id, status }: SlotPart): Promise<Conflict> {
  const found =
    status === 'busy' && canSearch(client, 'Appointment', ['slot'])
      ? await client.searchAll<fhir.Appointment>('Appointment', { slot: `Slot/${slot_id}` })
      : [];
  const booked = found.find((each) => !isTimeFree(each) && refIds(list(each.slot), 'Slot').includes(slot_id));
  if (booked) return conflictWith(booked, timezone);
  return { type: 'block', details: 'The provider’s schedule is closed at this time.' };
}

/**
 * Locations and services may have schedules of their own, without a provider. A schedule that has slots at this time,
 * none of them free, is closed or fully booked.
 */
async function findClosedPlaces(
  { client }: Emr,
  { location_ehr_id, starts_at, from_ms, to_ms }: Booking,
  roles: readonly fhir.PractitionerRole[],
): Promise<Conflict[]> {
  if (!canSearch(client, 'Slot', ['schedule', 'start'])) return [];
  const services = refIds(
    roles.flatMap(({ healthcareService }) => list(healthcareService)),
    'HealthcareService',
  );
  const actors = [`Location/${location_ehr_id}`, ...services.map((id) => `HealthcareService/${id}`)];
  const schedules = (await findReferencing<fhir.Schedule>(client, 'Schedule', ['actor'], actors)).filter(
    ({ active, actor }) =>
      active !== false &&
      refIds(list(actor), 'Practitioner').length + refIds(list(actor), 'PractitionerRole').length === 0,
  );
  if (schedules.length === 0) return [];
  const day = starts_at.slice(0, 10);
  const slots = await client.searchAll<fhir.Slot>('Slot', {
    schedule: schedules.map(({ id }) => `Schedule/${id}`).join(','),
    start: daysAround(day, day),
  });
  const overlapping = slots.filter((slot) => Date.parse(slot.start) < to_ms && Date.parse(slot.end) > from_ms);
  const closed = schedules.find(({ id }) => {
    const own = overlapping.filter((slot) => refId(slot.schedule, 'Schedule') === id);
    return own.length > 0 && own.every(({ status }) => status !== 'free' && status !== 'entered-in-error');
  });
  if (!closed) return [];
  const what = refIds(list(closed.actor), 'Location').includes(location_ehr_id) ? 'location' : 'service';
  return [{ type: 'block', details: `The ${what} is closed or fully booked at this time.` }];
}

async function slotsOn(emr: Emr, provider_ehr_id: string, day: string): Promise<SlotPart[]> {
  const roles = (await loadRoles(emr.client, [practitionerWithId(provider_ehr_id)])).get(provider_ehr_id) ?? [];
  const owners = await loadScheduleOwners(emr, [provider_ehr_id], roles);
  const found = await collect(readSlots(emr, owners, [day, day]));
  return found.filter((each) => each.provider_ehr_id === provider_ehr_id);
}

function practitionerWithId(id: string): fhir.Practitioner {
  return { resourceType: 'Practitioner', id };
}
