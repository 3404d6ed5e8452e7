import type * as fhir from 'fhir/r4.js';
import { toInstant, withOffset } from '../../../platform/time/zones.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { AppointmentUpdate } from '../../operations/appointments.ts';
import type { Operations } from '../../operations/operations.ts';
import type { FhirOperation } from '../operation.ts';
import {
  canSearch,
  createResolver,
  type Emr,
  loadReferredRoles,
  practitionerId,
  readActors,
  refIds,
} from '../references.ts';
import { noSuchRecord } from '../transport/call.ts';
import { can, searches } from '../transport/capabilities.ts';
import { marker_system, readMarkers } from '../transport/creates.ts';
import { code_systems, hasCode, list, toLocalTime } from '../values.ts';
import { afterCreate, requireId, requireRecords } from '../writeSteps.ts';
import { isTimeFree, readLocation, readMinutes, readProviders, type VisitType } from './appointments.ts';
import { findVisitType, slotMissing, throwIfTaken } from './booking.ts';
import { type Booking, type Conflict, conflictFailure, findAppointmentConflicts } from './conflicts.ts';
import { claimSlots, findFreeSlots, releaseSlots, storageKey } from './slotClaims.ts';
import { loadSlotOwners } from './slots.ts';

/**
 * Changes the appointment by a version-checked update with our marker, after which its slots follow. An attempt that was
 * interrupted is found by the marker, and only the slots are done again.
 */
export function updateAppointment(emr: Emr): Operations['updateAppointment'] {
  const { client } = emr;
  const finish = async (appointment: fhir.Appointment) => {
    await afterCreate('The appointment was changed, but not its slots.', () => releaseFormerSlots(emr, appointment));
    return { ehr_id: requireId(appointment) };
  };
  /** What an interrupted attempt stored. Its previous time is no longer known, so it cannot be moved back. */
  const resume = async (changed: fhir.Appointment, input: AppointmentUpdate, marker: string) => {
    const claims = isMove(input) && !isTimeFree(changed);
    if (claims && !(await afterCreate('', () => claimSlots(emr, changed, marker)))) {
      const message = `The appointment was changed, but its time is taken. ${taken_slot.details}`;
      throw new EmrFailure('refused', message, { code: 'slot_taken' });
    }
    return finish(changed);
  };
  return {
    send: async (input, marker) => {
      const id = input.appointment_ehr_id;
      const current = await client.read<fhir.Appointment>('Appointment', id);
      if (!current) throw noSuchRecord('Appointment');
      if (readMarkers(current).includes(marker)) return resume(current, input, marker);
      const { apply, booking } = await planChange(emr, current, input);
      const { before, after } = await client.update<fhir.Appointment>('Appointment', id, apply, marker);
      const conflict = booking && (await findConflict(emr, after, { booking, input, marker }));
      if (conflict) throw await restore(emr, { before, after, conflict, marker });
      return finish(after);
    },
    ...(client.canFind('Appointment') && {
      find: async (marker, input) => {
        const changed = await client.findByMarker<fhir.Appointment>('Appointment', marker);
        return changed && resume(changed, input, marker);
      },
    }),
  };
}

function isMove({ provider_ehr_id, location_ehr_id, starts_at, minutes }: AppointmentUpdate): boolean {
  return [provider_ehr_id, location_ehr_id, starts_at, minutes].some((each) => each !== undefined);
}

/** `booking`: the time that the appointment takes afterwards, if it is another one than before. */
type Plan = { apply: (current: fhir.Appointment) => fhir.Appointment; booking?: Booking };

async function planChange(emr: Emr, appointment: fhir.Appointment, input: AppointmentUpdate): Promise<Plan> {
  const { client, timezone } = emr;
  const { provider_ehr_id, location_ehr_id, visit_type, starts_at, minutes } = input;
  await requireRecords(client, null, { provider: provider_ehr_id, location: location_ehr_id });
  const type = visit_type === undefined ? undefined : await findVisitType(emr, visit_type);
  const roles = await loadReferredRoles(createResolver(client), readActors(appointment));
  const isProvider = ({ actor, type: kinds }: fhir.AppointmentParticipant) =>
    practitionerId(actor, roles) !== null &&
    !list(kinds).some((each) => hasCode(each, code_systems.participation, ['SPRF']));

  const status = (input.status ?? appointment.status) as fhir.Appointment['status'];
  const start = starts_at === undefined ? appointment.start : withOffset(starts_at, timezone);
  const length = minutes ?? readMinutes(appointment);
  const end = new Date(Date.parse(start ?? '') + length * 60_000).toISOString();
  const resumes = isTimeFree(appointment) && !isTimeFree({ ...appointment, status });
  const occupies = !isTimeFree({ ...appointment, status }) && (isMove(input) || resumes);
  const booking =
    occupies && start !== undefined ? await toBooking(emr, appointment, { input, start, end }) : undefined;
  if (booking && input.prevent_double_booking) await throwIfTaken(emr, booking);
  const slots = booking && (await chooseSlots(emr, appointment, booking, type));

  const changes: Partial<fhir.Appointment> = {
    ...(input.status !== undefined && { status }),
    ...(input.note !== undefined && { comment: input.note ?? undefined }),
    ...(starts_at !== undefined && { start }),
    ...((starts_at !== undefined || minutes !== undefined) && {
      end,
      ...(appointment.minutesDuration !== undefined && { minutesDuration: length }),
    }),
    ...(slots && { slot: slots.length > 0 ? slots.map(({ id }) => ({ reference: `Slot/${id}` })) : undefined }),
    ...(type && visitTypeFields(type)),
  };
  const apply = (current: fhir.Appointment): fhir.Appointment => {
    const touched = [...Object.keys(changes), ...((provider_ehr_id ?? location_ehr_id) ? ['participant'] : [])];
    // Every element of a resource is optional here.
    const [now, planned] = [current, appointment] as unknown as Record<string, unknown>[];
    if (touched.some((name) => JSON.stringify(now?.[name]) !== JSON.stringify(planned?.[name]))) {
      const message = 'The appointment was changed in the EMR at the same time. Nothing was saved.';
      throw new EmrFailure('refused', message, { code: 'record_changed' });
    }
    const participant = list(current.participant)
      .filter((each) => provider_ehr_id === undefined || !isProvider(each))
      .filter(({ actor }) => location_ehr_id === undefined || refIds([actor], 'Location').length === 0);
    return {
      ...current,
      ...changes,
      participant: client.capabilities.books_by_slot
        ? list(current.participant)
        : [
            ...participant,
            ...(provider_ehr_id === undefined ? [] : [toParticipant(`Practitioner/${provider_ehr_id}`, 'PPRF')]),
            ...(location_ehr_id === undefined ? [] : [toParticipant(`Location/${location_ehr_id}`)]),
          ],
    };
  };
  return { apply, ...(booking && { booking }) };
}

function visitTypeFields({ field, coding }: VisitType): Partial<fhir.Appointment> {
  const concept = { coding: [coding] };
  return field === 'appointmentType'
    ? { appointmentType: concept }
    : { appointmentType: undefined, serviceType: [concept] };
}

function toParticipant(reference: string, code?: string): fhir.AppointmentParticipant {
  return {
    actor: { reference },
    required: 'required',
    status: 'accepted',
    ...(code !== undefined && { type: [{ coding: [{ system: code_systems.participation, code }] }] }),
  };
}

async function toBooking(
  { client, timezone }: Emr,
  appointment: fhir.Appointment,
  { input, start, end }: { input: AppointmentUpdate; start: string; end: string },
): Promise<Booking> {
  const resolver = createResolver(client);
  const owners = await loadSlotOwners(client, [appointment], resolver);
  const roles = await loadReferredRoles(resolver, readActors(appointment));
  const [provider = ''] = readProviders(appointment, { roles, owners });
  const location = readLocation(appointment) ?? owners.get(requireId(appointment))?.facility_ehr_id ?? '';
  const starts_at = input.starts_at ?? withOffset(toLocalTime(start, timezone) ?? start, timezone);
  return {
    id: appointment.id,
    provider_ehr_id: input.provider_ehr_id ?? provider,
    location_ehr_id: input.location_ehr_id ?? location,
    starts_at,
    from_ms: toInstant(starts_at, timezone),
    to_ms: Date.parse(end),
    own_slots: refIds(list(appointment.slot), 'Slot'),
  };
}

/** The slots of the new time: those that it has already, or free ones. Undefined if the appointment needs no others. */
async function chooseSlots(
  emr: Emr,
  appointment: fhir.Appointment,
  booking: Booking,
  type: VisitType | undefined,
): Promise<readonly fhir.Slot[] | undefined> {
  const { slots, has_schedule } = await findFreeSlots(emr, booking, type);
  if (emr.client.capabilities.books_by_slot && slots.length !== 1) throw slotMissing(slots);
  return has_schedule || list(appointment.slot).length > 0 ? slots : undefined;
}

/** The other booking that has taken the time since it was found free, and was stored earlier. */
async function findConflict(
  emr: Emr,
  after: fhir.Appointment,
  { booking, input, marker }: { booking: Booking; input: AppointmentUpdate; marker: string },
): Promise<Conflict | undefined> {
  return afterCreate('', async () => {
    if (!(await claimSlots(emr, after, marker))) return taken_slot;
    const conflicts = input.prevent_double_booking ? await findAppointmentConflicts(emr, booking) : [];
    return conflicts.find(({ appointment }) => appointment && storageKey(appointment) < storageKey(after));
  });
}

const taken_slot: Conflict = { type: 'appointment', details: 'The provider has another appointment at this time.' };

/** Moves the appointment back to where it was, and returns the failure. */
async function restore(
  emr: Emr,
  change: { before: fhir.Appointment; after: fhir.Appointment; conflict: Conflict; marker: string },
): Promise<EmrFailure> {
  const { before, after, conflict, marker } = change;
  await afterCreate('The appointment overlaps another one and could not be moved back.', async () => {
    const kept = refIds(list(before.slot), 'Slot');
    const left = list(after.slot).filter((each) => !kept.some((id) => refIds([each], 'Slot').includes(id)));
    await releaseSlots(emr, { ...after, slot: left }, marker);
    const undo = ({ identifier, meta }: fhir.Appointment): fhir.Appointment => ({ ...before, identifier, meta });
    await emr.client.update<fhir.Appointment>('Appointment', requireId(after), undo, `${marker}-undone`);
  });
  return conflictFailure(conflict);
}

/** Frees the slots that our writes claimed for the appointment and that it no longer needs. */
async function releaseFormerSlots(emr: Emr, appointment: fhir.Appointment): Promise<void> {
  const kept = isTimeFree(appointment) ? [] : refIds(list(appointment.slot), 'Slot');
  for (const marker of readMarkers(appointment)) {
    const slots = await findClaimed(emr, appointment, marker);
    const left = slots.filter((id) => !kept.includes(id)).map((id) => ({ reference: `Slot/${id}` }));
    if (left.length > 0) await releaseSlots(emr, { ...appointment, slot: left }, marker);
  }
}

/** The slots that a write of ours claimed for the appointment, as far as the server can search for them. */
async function findClaimed({ client }: Emr, appointment: fhir.Appointment, marker: string): Promise<string[]> {
  const own = refIds(list(appointment.slot), 'Slot');
  if (!canSearch(client, 'Slot', ['identifier'])) return own;
  const slots = await client.searchAll<fhir.Slot>('Slot', { identifier: `${marker_system}|${marker}-slot` });
  return [...new Set([...own, ...slots.map(requireId)])];
}

export const change_operations: readonly FhirOperation[] = [
  {
    operation: 'updateAppointment',
    requires: [can('Appointment', 'read', 'update')],
    field_requires: { prevent_double_booking: [searches('Appointment', 'date')] },
    open: updateAppointment,
  },
];
