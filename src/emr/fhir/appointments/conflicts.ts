import type * as fhir from 'fhir/r4.js';
import { toInstant } from '../../../platform/time/zones.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { collect } from '../../operations/operation.ts';
import {
  canSearch,
  createResolver,
  type Emr,
  findReferencing,
  loadReferredRoles,
  readActors,
  refId,
  refIds,
} from '../references.ts';
import type { SearchParams } from '../transport/search.ts';
import { list, searchDays, toLocalTime } from '../values.ts';
import { isTimeFree, readMinutes, readProviders } from './appointments.ts';
import { toAbsences } from './hours.ts';
import { formatMinute, loadRoles, loadSchedules, loadSlotOwners, readSlots, type SlotPart } from './slots.ts';

/** A requested time. `id` is the appointment once it exists. */
export type Booking = {
  id: string | undefined;
  provider_ehr_id: string;
  location_ehr_id: string;
  /** The slots of an appointment that is moved. They are free for it. */
  own_slots?: readonly string[];
  /** Local time at the practice, with its offset. */
  starts_at: string;
  from_ms: number;
  to_ms: number;
};

export type Conflict = { type: 'appointment' | 'block'; details: string; appointment?: fhir.Appointment };

/** Everything that occupies the provider at this time, appointments first. */
export async function findConflicts(emr: Emr, booking: Booking): Promise<Conflict[]> {
  return [...(await findAppointmentConflicts(emr, booking)), ...(await findBlocks(emr, booking))];
}

/** The other appointments of the provider at this time. */
export async function findAppointmentConflicts(emr: Emr, booking: Booking): Promise<Conflict[]> {
  const appointments = await findOverlapping(emr, booking);
  return appointments.map((appointment) => toConflict(appointment, emr.timezone));
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
  const parts = await loadSlotsOn(emr, provider_ehr_id, starts_at.slice(0, 10));
  const clock = `${starts_at.slice(11, 16)}:00`;
  return parts.find(({ status, from_min }) => status === 'free' && formatMinute(from_min) === clock);
}

/** The appointments in a slot, as far as the server can search for them. */
export async function findBooked(client: Emr['client'], slot_id: string): Promise<fhir.Appointment[]> {
  if (!canSearch(client, 'Appointment', ['slot'])) return [];
  const matches = await client.searchAll<fhir.Appointment>('Appointment', { slot: `Slot/${slot_id}` });
  return matches.filter((each) => !isTimeFree(each) && refIds(list(each.slot), 'Slot').includes(slot_id));
}

function toConflict(appointment: fhir.Appointment, timezone: string): Conflict {
  const times = [appointment.start, appointment.end].map((at) => toLocalTime(at, timezone)?.slice(11, 16) ?? '?');
  return { type: 'appointment', details: `The provider has an appointment from ${times.join(' to ')}.`, appointment };
}

async function findOverlapping({ client, timezone }: Emr, booking: Booking): Promise<fhir.Appointment[]> {
  const day = booking.starts_at.slice(0, 10);
  const params = {
    date: searchDays(day, toLocalTime(new Date(booking.to_ms).toISOString(), timezone)?.slice(0, 10) ?? day),
    ...(await participantParams(client, booking.provider_ehr_id)),
  };
  const appointments = await client.searchAll<fhir.Appointment>('Appointment', params);
  const resolver = createResolver(client);
  const roles = await loadReferredRoles(resolver, appointments.flatMap(readActors));
  const owners = await loadSlotOwners(client, appointments, resolver);
  return appointments.filter((each) => {
    const from_ms = Date.parse(each.start ?? '');
    const to_ms = from_ms + readMinutes(each) * 60_000;
    const has_provider = readProviders(each, { roles, owners }).includes(booking.provider_ehr_id);
    return (
      each.id !== booking.id && has_provider && !isTimeFree(each) && from_ms < booking.to_ms && to_ms > booking.from_ms
    );
  });
}

/** A provider may participate directly or through a role, which a search by `practitioner` does not find. */
async function participantParams(client: Emr['client'], provider_ehr_id: string): Promise<SearchParams> {
  const roles = (await loadRoles(client, [provider_ehr_id])).get(provider_ehr_id) ?? [];
  const self = `Practitioner/${provider_ehr_id}`;
  if (canSearch(client, 'Appointment', ['actor'])) {
    return { actor: [self, ...roles.map(({ id }) => `PractitionerRole/${id}`)].join(',') };
  }
  return roles.length === 0 && canSearch(client, 'Appointment', ['practitioner']) ? { practitioner: self } : {};
}

async function findBlocks(emr: Emr, booking: Booking): Promise<Conflict[]> {
  const { provider_ehr_id, own_slots = [], starts_at, from_ms, to_ms } = booking;
  const day = starts_at.slice(0, 10);
  const overlaps = (starts: string, minutes: number) => {
    const at_ms = toInstant(starts, emr.timezone);
    return at_ms < to_ms && at_ms + minutes * 60_000 > from_ms;
  };
  const roles = (await loadRoles(emr.client, [provider_ehr_id])).get(provider_ehr_id) ?? [];
  const absences = roles.flatMap((role) => toAbsences(role, emr.timezone, [day, day]));
  const absence = absences.find(({ starts, minutes }) => overlaps(starts, minutes));
  const blocked_slot = (await loadSlotsOn(emr, provider_ehr_id, day)).find(
    (slot) =>
      slot.status !== 'free' &&
      !own_slots.includes(slot.slot_id) &&
      overlaps(`${slot.day}T${formatMinute(slot.from_min)}`, slot.minutes),
  );
  return [
    ...(absence ? [{ type: 'block' as const, details: 'The provider is not available on this day.' }] : []),
    ...(blocked_slot ? [await explainBlock(emr, blocked_slot)] : []),
    ...(await findClosedPlaces(emr, booking, roles)),
  ];
}

/** A busy slot is an appointment if one is booked into it: its participants may not include the provider. */
async function explainBlock({ client, timezone }: Emr, { slot_id, status }: SlotPart): Promise<Conflict> {
  const [booked] = status === 'busy' ? await findBooked(client, slot_id) : [];
  if (booked) return toConflict(booked, timezone);
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
    start: searchDays(day, day),
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

async function loadSlotsOn(emr: Emr, provider_ehr_id: string, day: string): Promise<SlotPart[]> {
  const { owners } = await loadSchedules(emr, [provider_ehr_id]);
  const slots = await collect(readSlots(emr, owners, [day, day]));
  return slots.filter((each) => each.provider_ehr_id === provider_ehr_id);
}
