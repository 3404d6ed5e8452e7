import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../emrFailure.ts';
import { canSearch, type Emr, refId, refIds } from '../references.ts';
import { marker_system, readMarkers } from '../transport/creates.ts';
import { list, nonEmptyList, searchDays, text } from '../values.ts';
import { requireId } from '../writeSteps.ts';
import type { VisitType } from './appointments.ts';
import { type Booking, findBooked } from './conflicts.ts';
import { findsServiceSlots, searchServiceSlots } from './serviceSlots.ts';
import { loadSchedules } from './slots.ts';

/**
 * The free slots of the provider at this location that cover the time without a gap, in their order. Empty if there are
 * none: the practice does not use slots, or the time is outside of them. `has_schedule`: the provider has a schedule.
 */
export type FreeSlots = { slots: readonly fhir.Slot[]; has_schedule: boolean };

/** `type`: undefined for an appointment that keeps its own. */
export async function findFreeSlots(emr: Emr, booking: Booking, type: VisitType | undefined): Promise<FreeSlots> {
  const { client } = emr;
  if (!canSearch(client, 'Slot', ['schedule', 'start'])) return findServiceSlots(emr, booking, type);
  const { provider_ehr_id, location_ehr_id, own_slots = [], starts_at } = booking;
  const { owners } = await loadSchedules(emr, [provider_ehr_id]);
  const schedules = [...owners].filter(
    ([, owner]) => owner.provider_ehr_id === provider_ehr_id && [null, location_ehr_id].includes(owner.facility_ehr_id),
  );
  if (schedules.length === 0) return { slots: [], has_schedule: owners.size > 0 };
  const day = starts_at.slice(0, 10);
  const slots_of_day = await client.searchAll<fhir.Slot>('Slot', {
    schedule: schedules.map(([id]) => `Schedule/${id}`).join(','),
    start: searchDays(day, day),
  });
  const free = slots_of_day.filter(
    (slot) =>
      (slot.status === 'free' || own_slots.includes(slot.id ?? '')) && (type === undefined || takesType(slot, type)),
  );
  const covers = schedules.map(([id]) =>
    coverTime(
      free.filter((slot) => refId(slot.schedule, 'Schedule') === id),
      booking,
    ),
  );
  return { slots: covers.find((slots) => slots.length > 0) ?? [], has_schedule: true };
}

/** The same for servers that search slots by service and provider, and not by schedule (Oracle). */
async function findServiceSlots(
  { client }: Emr,
  { provider_ehr_id, location_ehr_id, own_slots = [], ...time }: Booking,
  type: VisitType | undefined,
): Promise<FreeSlots> {
  if (!findsServiceSlots(client) || type?.field !== 'serviceType') return { slots: [], has_schedule: false };
  const day = time.starts_at.slice(0, 10);
  const { slots, findPlaces } = await searchServiceSlots(client, type, provider_ehr_id, [day, day]);
  const isHere = (slot: fhir.Slot) => {
    const places = findPlaces(slot);
    return places.length === 0 || places.includes(location_ehr_id);
  };
  const free = slots.filter((slot) => (slot.status === 'free' || own_slots.includes(slot.id ?? '')) && isHere(slot));
  return { slots: coverTime(free, { ...time, provider_ehr_id, location_ehr_id }), has_schedule: true };
}

/** Slots that start where the previous one ends. The last one may be longer than the appointment. */
function coverTime(free: readonly fhir.Slot[], { from_ms, to_ms }: Booking): fhir.Slot[] {
  const slots: fhir.Slot[] = [];
  let at_ms = from_ms;
  while (at_ms < to_ms) {
    const next = free.find((slot) => Date.parse(slot.start) === at_ms && Date.parse(slot.end) > at_ms);
    if (!next) return [];
    slots.push(next);
    at_ms = Date.parse(next.end);
  }
  return slots;
}

/** A slot that names services accepts only those. */
function takesType({ serviceType }: fhir.Slot, { field, coding }: VisitType): boolean {
  const codes = list(serviceType).flatMap((each) => list(each.coding).map(({ code }) => text(code)));
  return field !== 'serviceType' || codes.length === 0 || codes.includes(coding.code ?? '');
}

/**
 * Marks the slots of a stored appointment as busy, unless the server does so itself. Returns whether all of them are
 * this appointment's: with several bookings of one slot at the same time, this is true for exactly one of them.
 *
 * A slot is claimed by an update that is tied to its version and leaves our marker. It happens after the appointment was
 * stored, so that a slot is never busy without an appointment: after an interruption, the appointment is found by its
 * marker and claims what is missing.
 */
export async function claimSlots(emr: Emr, appointment: fhir.Appointment, marker: string): Promise<boolean> {
  for (const id of refIds(list(appointment.slot), 'Slot')) {
    if (!(await claimSlot(emr, appointment, id, slotMarker(marker)))) return false;
  }
  return true;
}

/** Frees the slots that this appointment claimed. */
export async function releaseSlots({ client }: Emr, appointment: fhir.Appointment, marker: string): Promise<void> {
  const own = slotMarker(marker);
  for (const id of refIds(list(appointment.slot), 'Slot')) {
    const slot = await client.read<fhir.Slot>('Slot', id);
    if (!slot || slot.status === 'free' || !readMarkers(slot).includes(own)) continue;
    const release = (current: fhir.Slot): fhir.Slot =>
      readMarkers(current).includes(own) ? { ...withoutClaims(current), status: 'free' } : current;
    await client.update<fhir.Slot>('Slot', id, release, `${own}-released`);
  }
}

async function claimSlot(emr: Emr, appointment: fhir.Appointment, id: string, own: string): Promise<boolean> {
  const { client } = emr;
  const can = client.capabilities.interactions('Slot');
  const slot = can.has('read') ? await client.read<fhir.Slot>('Slot', id) : undefined;
  if (!slot) return true;
  if (slot.status !== 'free') return isOwnSlot(emr, slot, appointment, own);
  if (!can.has('update') || !client.capabilities.versionedUpdate('Slot')) {
    return !(await isBookedEarlier(emr, appointment, id));
  }
  try {
    const claim = (current: fhir.Slot): fhir.Slot => {
      if (current.status !== 'free') throw new TakenSlot();
      return { ...withoutClaims(current), status: 'busy' };
    };
    const { after } = await client.update<fhir.Slot>('Slot', id, claim, own);
    if (readMarkers(after).includes(own)) return true;
    // The response may leave out what the server keeps.
    const stored = await client.read<fhir.Slot>('Slot', id);
    if (stored && readMarkers(stored).includes(own)) return true;
    await client.learn(({ unmarked }) => unmarked?.push('Slot'));
    return !(await isBookedEarlier(emr, appointment, id));
  } catch (error) {
    if (error instanceof TakenSlot) {
      const now = await client.read<fhir.Slot>('Slot', id);
      // Somebody in the EMR took it: only a server that drops our marker leaves the question open.
      return now !== undefined && (readMarkers(now).includes(own) || !client.capabilities.keepsMarkers('Slot'))
        ? isOwnSlot(emr, now, appointment, own)
        : false;
    }
    // A server that does not let us change slots keeps them itself.
    if (error instanceof EmrFailure && error.not_offered) return !(await isBookedEarlier(emr, appointment, id));
    throw error;
  }
}

/** Thrown within an update of a slot that somebody else has taken since. */
class TakenSlot extends Error {}

/** Whether a slot that is no longer free belongs to this appointment. */
async function isOwnSlot(emr: Emr, slot: fhir.Slot, appointment: fhir.Appointment, own: string): Promise<boolean> {
  const claims = readMarkers(slot);
  // One that is moved may keep a slot that an earlier write of ours claimed for it.
  const owners = [own, ...readMarkers(appointment).map(slotMarker)];
  if (claims.length > 0) return claims.some((claim) => owners.includes(claim));
  // Without any marker, the server marks slots itself.
  return !(await isBookedEarlier(emr, appointment, requireId(slot)));
}

/** Whether another appointment in this slot was stored before this one. */
async function isBookedEarlier({ client }: Emr, appointment: fhir.Appointment, slot_id: string): Promise<boolean> {
  const booked = await findBooked(client, slot_id);
  return booked.some((each) => each.id !== appointment.id && storageKey(each) < storageKey(appointment));
}

/** A sort key for the time of storage. At the same instant, the lower id is first. */
export function storageKey({ meta, id }: fhir.Appointment): string {
  const ms = Date.parse(meta?.lastUpdated ?? '') || 0;
  return `${String(ms).padStart(16, '0')} ${id}`;
}

/** A slot has the marker of one claim only. */
function withoutClaims(slot: fhir.Slot): fhir.Slot {
  const others = list(slot.identifier).filter(({ system }) => system !== marker_system);
  return { ...slot, identifier: nonEmptyList(others) };
}

function slotMarker(marker: string): string {
  return `${marker}-slot`;
}
