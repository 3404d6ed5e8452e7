import type * as fhir from 'fhir/r4.js';
import { instantOf } from '../../time/zones.ts';
import { EmrFailure } from '../connector.ts';
import { isFree, minutesOf, providersOf } from './appointments.ts';
import type { SearchParams } from './client.ts';
import { daysAround, wallTime } from './clock.ts';
import { absencesOf } from './hours.ts';
import { gather } from './lists.ts';
import { canSearch, type Emr, idsIn, resolverOf } from './references.ts';
import { rolesOf } from './roles.ts';
import { clockOf, diariesOf, type Stretch, stretchesOf } from './slots.ts';
import { list } from './values.ts';

/** A time somebody wants; `id` is the appointment that takes it, once there is one. */
export type Booking = {
  id: string | undefined;
  provider_ehr_id: string;
  /** `2026-03-08T09:30:00` by the clock of the practice. */
  starts_at: string;
  from_ms: number;
  to_ms: number;
};

export type Conflict = { type: 'appointment' | 'block'; details: string; appointment?: fhir.Appointment };

/** What takes a provider's time, the appointments first. */
export async function conflictsOf(emr: Emr, booking: Booking, of?: 'appointments'): Promise<Conflict[]> {
  const appointments = await overlapping(emr, booking);
  const conflicts = appointments.map((appointment): Conflict => {
    const shown = [appointment.start, appointment.end].map((at) => wallTime(at, emr.timezone)?.slice(11, 16) ?? '?');
    return { type: 'appointment', details: `The provider has an appointment from ${shown.join(' to ')}.`, appointment };
  });
  return of === 'appointments' ? conflicts : [...conflicts, ...(await blocksOf(emr, booking))];
}

export function refuseConflict(conflict: Conflict | undefined): void {
  if (!conflict) return;
  throw new EmrFailure('refused', `The provider is not free at this time. ${conflict.details}`, {
    details: { conflict_type: conflict.type, conflict_details: conflict.details },
  });
}

/** The slot of a provider that is free and begins at this very time. */
export async function slotAt(emr: Emr, provider_ehr_id: string, starts_at: string): Promise<Stretch | undefined> {
  const stretches = await slotsOn(emr, provider_ehr_id, starts_at.slice(0, 10));
  const clock = `${starts_at.slice(11, 16)}:00`;
  return stretches.find(({ status, from_min }) => status === 'free' && clockOf(from_min) === clock);
}

async function overlapping({ client, timezone }: Emr, booking: Booking): Promise<fhir.Appointment[]> {
  const day = booking.starts_at.slice(0, 10);
  const params = {
    date: daysAround(day, wallTime(new Date(booking.to_ms).toISOString(), timezone)?.slice(0, 10) ?? day),
    ...(await takingPart(client, booking.provider_ehr_id)),
  };
  const found = await client.searchAll<fhir.Appointment>('Appointment', params);
  const actors = found.flatMap(({ participant }) => list(participant).map(({ actor }) => actor));
  const role_ids = idsIn(actors, 'PractitionerRole');
  const roles = await resolverOf(client).load<fhir.PractitionerRole>('PractitionerRole', role_ids);
  return found.filter((each) => {
    const from_ms = Date.parse(each.start ?? '');
    const to_ms = from_ms + minutesOf(each) * 60_000;
    const theirs = providersOf(each, roles).includes(booking.provider_ehr_id);
    return each.id !== booking.id && theirs && !isFree(each) && from_ms < booking.to_ms && to_ms > booking.from_ms;
  });
}

/** Somebody may take part as themselves or by a role, which a search by `practitioner` does not find. */
async function takingPart(client: Emr['client'], provider_ehr_id: string): Promise<SearchParams> {
  const roles = (await rolesOf(client, [person(provider_ehr_id)])).get(provider_ehr_id) ?? [];
  const self = `Practitioner/${provider_ehr_id}`;
  if (canSearch(client, 'Appointment', ['actor'])) {
    return { actor: [self, ...roles.map(({ id }) => `PractitionerRole/${id}`)].join(',') };
  }
  return roles.length === 0 && canSearch(client, 'Appointment', ['practitioner']) ? { practitioner: self } : {};
}

async function blocksOf(emr: Emr, { provider_ehr_id, starts_at, from_ms, to_ms }: Booking): Promise<Conflict[]> {
  const day = starts_at.slice(0, 10);
  const overlaps = (starts: string, minutes: number) => {
    const at_ms = instantOf(starts, emr.timezone);
    return at_ms < to_ms && at_ms + minutes * 60_000 > from_ms;
  };
  const roles = (await rolesOf(emr.client, [person(provider_ehr_id)])).get(provider_ehr_id) ?? [];
  const absences = roles.flatMap((role) => absencesOf(role, emr.timezone, [day, day]));
  const away = absences.find(({ starts, minutes }) => overlaps(starts, minutes));
  const taken = (await slotsOn(emr, provider_ehr_id, day)).find(
    (slot) => slot.status !== 'free' && overlaps(`${slot.day}T${clockOf(slot.from_min)}`, slot.minutes),
  );
  return [
    ...(away ? [{ type: 'block' as const, details: 'The provider is not available on this day.' }] : []),
    ...(taken ? [{ type: 'block' as const, details: 'The provider’s schedule is closed at this time.' }] : []),
  ];
}

async function slotsOn(emr: Emr, provider_ehr_id: string, day: string): Promise<Stretch[]> {
  const roles = (await rolesOf(emr.client, [person(provider_ehr_id)])).get(provider_ehr_id) ?? [];
  const diaries = await diariesOf(emr, [provider_ehr_id], roles);
  const found = await gather(stretchesOf(emr, diaries, [day, day]));
  return found.filter((each) => each.provider_ehr_id === provider_ehr_id);
}

function person(id: string): fhir.Practitioner {
  return { resourceType: 'Practitioner', id };
}
