import type * as fhir from 'fhir/r4.js';
import type { FailureCode } from '../../../catalog/failures.ts';
import { instantOf, withOffset } from '../../../platform/time/zones.ts';
import { EmrFailure, type EmrWrite, type Operations } from '../../connector.ts';
import { unsupportedField } from '../../fieldSupport.ts';
import { participation_system } from '../lists/appointments.ts';
import { type VisitType, visitTypesOf } from '../lists/visitCodes.ts';
import { canSearch, type Emr } from '../references.ts';
import { text } from '../values.ts';
import {
  type Booking,
  type Conflict,
  conflictFailure,
  findConflicts,
  findFreeSlot,
  throwOnConflict,
} from './conflicts.ts';
import { findLostAppointment } from './lostCreates.ts';
import { requireRecords } from './requireRecords.ts';
import { claimSlots, type FreeSlots, findFreeSlots, releaseSlots, storageKey } from './slots.ts';
import { afterCreate, idOf, rejectUnsupported } from './steps.ts';

type Write = Operations['createAppointment'];
type Input = Write extends EmrWrite<infer In, infer _Out> ? In : never;

/**
 * FHIR does not prevent double bookings, so conflicts are searched before and after the create. Where the provider has
 * free slots at the time, the appointment is booked into them.
 */
export function createAppointment(emr: Emr): Write {
  const { client } = emr;
  const confirm = async (created: fhir.Appointment, input: Input, marker: string) => {
    if (created.status === 'cancelled') throw await withdraw(emr, created, marker, undefined);
    const slots_claimed = await afterCreate('', () => claimSlots(emr, created, marker));
    if (!slots_claimed) throw await withdraw(emr, created, marker, undefined);
    if (input.prevent_double_booking) await resolveDoubleBooking(emr, created, input, marker);
    return { ehr_id: idOf(created) };
  };
  return {
    send: async (input, marker) => {
      // Otherwise an earlier attempt would conflict with itself.
      const present =
        client.canFind('Appointment') && (await client.findByMarker<fhir.Appointment>('Appointment', marker));
      if (present) return confirm(present, input, marker);
      await requireRecords(client, input.patient_ehr_id, {
        provider: [input.provider_ehr_id, input.secondary_provider_ehr_id],
        location: input.location_ehr_id,
      });
      const type = await findVisitType(emr, input);
      const appointment = await toFhirAppointment(emr, input, type);
      const requested = toBooking(emr, input, appointment);
      if (input.prevent_double_booking) await throwIfTaken(emr, requested);
      const free = await findFreeSlots(emr, requested, type);
      return confirm(await storeAppointment(emr, appointment, free, input, marker), input, marker);
    },
    ...(client.canFind('Appointment') && {
      find: async (marker, input) => {
        const start_ms = instantOf(input.starts_at, emr.timezone);
        const created = await findLostAppointment(emr, input, start_ms, marker);
        return created && confirm(created, input, marker);
      },
    }),
  };
}

async function findVisitType(emr: Emr, input: Input): Promise<VisitType> {
  rejectUnsupported({ new_patient: input.new_patient });
  const types = await visitTypesOf(emr);
  const type = types.get(input.visit_type);
  if (type) return type;
  const known = [...types.keys()].join(', ');
  const message = `The EMR has no visit type '${input.visit_type}'. Available: ${known}.`;
  throw new EmrFailure('refused', message, { code: 'unknown_value' });
}

async function toFhirAppointment(emr: Emr, input: Input, type: VisitType): Promise<fhir.Appointment> {
  const concept = { coding: [type.coding] };
  const minutes = input.minutes ?? (await defaultMinutes(emr, input));
  const start = withOffset(input.starts_at, emr.timezone);
  const end = new Date(Date.parse(start) + minutes * 60_000).toISOString();
  return {
    resourceType: 'Appointment',
    status: 'booked',
    ...(type.field === 'appointmentType' ? { appointmentType: concept } : { serviceType: [concept] }),
    ...(text(input.reason) !== null && { reasonCode: [{ text: input.reason ?? '' }] }),
    ...(text(input.note) !== null && { comment: input.note ?? '' }),
    start,
    end,
    minutesDuration: minutes,
    created: new Date().toISOString(),
    participant: toParticipants(input),
  };
}

/**
 * Some servers take appointments only in exactly one slot and with the patient as the only participant: the slot says
 * everything else. Such a server rejects the usual form. That is remembered once it has taken the other one. Until then,
 * a rejection at a time without a slot, of a provider with a schedule, counts as one for the lack of a slot.
 */
async function storeAppointment(
  { client }: Emr,
  appointment: fhir.Appointment,
  { slots, has_schedule }: FreeSlots,
  input: Input,
  marker: string,
): Promise<fhir.Appointment> {
  if (client.capabilities.books_by_slot) return client.create(boundToSlot(appointment, slots, input), marker);
  const slot = slots.map((each) => ({ reference: `Slot/${each.id}` }));
  try {
    return await client.create<fhir.Appointment>({ ...appointment, ...(slot.length > 0 && { slot }) }, marker);
  } catch (error) {
    const rejected = error instanceof EmrFailure && error.kind === 'refused' && rejections.has(error.code);
    if (!rejected || error.not_offered || input.secondary_provider_ehr_id !== null) throw error;
    if (slots.length !== 1) throw has_schedule ? withoutSlot(slots, error) : error;
    const created = await client
      .create(boundToSlot(appointment, slots, input), marker)
      // The server rejects both forms. Its response to the first is the reason.
      .catch((failure) => {
        throw failure instanceof EmrFailure && rejections.has(failure.code) ? error : failure;
      });
    await client.learn((facts) => {
      facts.books_by_slot = true;
    });
    return created;
  }
}

/** How a server rejects participants or slots that it does not take. */
const rejections: ReadonlySet<FailureCode> = new Set(['emr_validation', 'emr_refused', 'not_supported']);

function boundToSlot(appointment: fhir.Appointment, slots: readonly fhir.Slot[], input: Input): fhir.Appointment {
  rejectUnsupported({ secondary_provider: input.secondary_provider_ehr_id });
  const [slot, ...more] = slots;
  if (!slot || more.length > 0) throw withoutSlot(slots);
  return {
    ...appointment,
    start: slot.start,
    end: slot.end,
    minutesDuration: undefined,
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: appointment.participant.slice(0, 1),
  };
}

/** The failure of a booking for which there is no slot, with what the EMR said about it. */
function withoutSlot(slots: readonly fhir.Slot[], cause?: EmrFailure): EmrFailure {
  const conflict_details =
    slots.length > 0
      ? 'The EMR books one slot at a time, and the free one at this time is shorter.'
      : 'The EMR has no free slot at this time.';
  return new EmrFailure('refused', cause ? `${conflict_details} ${cause.message}` : conflict_details, {
    code: 'slot_taken',
    details: { conflict_type: 'block', conflict_details },
    cause,
  });
}

/** FHIR's visit types have no length of their own, but the slots of a schedule do. */
async function defaultMinutes(emr: Emr, input: Input): Promise<number> {
  return (await findFreeSlot(emr, input.provider_ehr_id, input.starts_at))?.minutes ?? input.default_minutes;
}

function toParticipants(input: Input): fhir.AppointmentParticipant[] {
  const participant = (reference: string, code?: string): fhir.AppointmentParticipant => ({
    actor: { reference },
    required: 'required',
    status: 'accepted',
    ...(code !== undefined && { type: [{ coding: [{ system: participation_system, code }] }] }),
  });
  const secondary = input.secondary_provider_ehr_id;
  return [
    participant(`Patient/${input.patient_ehr_id}`),
    participant(`Practitioner/${input.provider_ehr_id}`, 'PPRF'),
    ...(secondary === null ? [] : [participant(`Practitioner/${secondary}`, 'SPRF')]),
    participant(`Location/${input.location_ehr_id}`),
  ];
}

async function throwIfTaken(emr: Emr, requested: Booking): Promise<void> {
  if (!canSearch(emr.client, 'Appointment', ['date'])) throw unsupportedField('prevent_double_booking');
  throwOnConflict((await findConflicts(emr, requested))[0]);
}

/**
 * Two accounts may find the same time free and both book it. The appointment that was stored later is cancelled. Each
 * sees the other, so exactly one remains.
 */
async function resolveDoubleBooking(emr: Emr, created: fhir.Appointment, input: Input, marker: string): Promise<void> {
  if (!emr.client.capabilities.interactions('Appointment').has('update')) return;
  const conflicts = await afterCreate('', () => findConflicts(emr, toBooking(emr, input, created), 'appointments'));
  const earlier = conflicts.find(({ appointment }) => appointment && storageKey(appointment) < storageKey(created));
  if (earlier) throw await withdraw(emr, created, marker, earlier);
}

/**
 * Takes back an appointment that lost its time to another one, and returns the failure. The slots are freed first: after
 * an interruption, the appointment is still found and takes itself back again.
 */
async function withdraw(
  emr: Emr,
  created: fhir.Appointment,
  marker: string,
  conflict: Conflict | undefined,
): Promise<EmrFailure> {
  const cancel = (current: fhir.Appointment): fhir.Appointment => ({
    ...current,
    status: 'cancelled',
    cancelationReason: { text: 'Double booking' },
  });
  await afterCreate('The appointment overlaps another one and could not be cancelled.', async () => {
    await releaseSlots(emr, created, marker);
    if (created.status === 'cancelled') return;
    await emr.client.update<fhir.Appointment>('Appointment', idOf(created), cancel, marker);
  });
  const details = 'The provider has another appointment at this time.';
  return conflictFailure(conflict ?? { type: 'appointment', details });
}

function toBooking({ timezone }: Emr, input: Input, { id, end }: fhir.Appointment): Booking {
  return {
    id,
    provider_ehr_id: input.provider_ehr_id,
    location_ehr_id: input.location_ehr_id,
    starts_at: input.starts_at,
    from_ms: instantOf(input.starts_at, timezone),
    to_ms: Date.parse(end ?? ''),
  };
}
