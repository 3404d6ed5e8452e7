import type * as fhir from 'fhir/r4.js';
import type { FailureCode } from '../../../catalog/failures.ts';
import { toInstant, withOffset } from '../../../platform/time/zones.ts';
import { EmrFailure, unsupportedField } from '../../emrFailure.ts';
import type { NewAppointment } from '../../operations/appointments.ts';
import type { Operations } from '../../operations/operations.ts';
import type { FhirOperation } from '../operation.ts';
import { canSearch, type Emr } from '../references.ts';
import { can, searches } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { readMarkers, unproven } from '../transport/creates.ts';
import { code_systems, text } from '../values.ts';
import {
  afterCreate,
  findLost,
  findMarked,
  pickNew,
  rejectUnsupported,
  requireId,
  requireRecords,
} from '../writeSteps.ts';
import { loadVisitTypes, type VisitType } from './appointments.ts';
import {
  type Booking,
  type Conflict,
  conflictFailure,
  findAppointmentConflicts,
  findConflicts,
  findFreeSlot,
  throwOnConflict,
} from './conflicts.ts';
import { bookOffer, canFindAtStart, confirmOffer, findAtStart, findBookedOffer, findLostOffer } from './offers.ts';
import { claimSlots, type FreeSlots, findFreeSlots, releaseSlots, storageKey } from './slotClaims.ts';

/**
 * FHIR does not prevent double bookings, so conflicts are searched before and after the create. Where the provider has
 * free slots at the time, the appointment is booked into them.
 */
export function createAppointment(emr: Emr): Operations['createAppointment'] {
  const { client } = emr;
  const by_offer = client.capabilities.books_by_offer;
  const confirm = async (created: fhir.Appointment, input: NewAppointment, marker: string) => {
    if (by_offer) return { ehr_id: confirmOffer(created) };
    if (created.status === 'cancelled') throw await withdraw(emr, created, marker);
    const slots_claimed = await afterCreate('', () => claimSlots(emr, created, marker));
    if (!slots_claimed) throw await withdraw(emr, created, marker);
    if (input.prevent_double_booking) await resolveDoubleBooking(emr, created, input, marker);
    return { ehr_id: requireId(created) };
  };
  return {
    send: async (input, marker) => {
      // Otherwise an earlier attempt would conflict with itself.
      const present = by_offer
        ? await findBookedOffer(emr, input, marker)
        : await findMarked<fhir.Appointment>(client, 'Appointment', marker);
      if (present) return confirm(present, input, marker);
      if (by_offer) rejectUnsupported({ secondary_provider: input.secondary_provider_ehr_id });
      await requireRecords(client, input.patient_ehr_id, {
        provider: [input.provider_ehr_id, input.secondary_provider_ehr_id],
        location: input.location_ehr_id,
      });
      rejectUnsupported({ new_patient: input.new_patient });
      const type = await findVisitType(emr, input.visit_type);
      const appointment = await toFhirAppointment(emr, input, type);
      const requested = toBooking(emr, input, appointment);
      if (input.prevent_double_booking) await throwIfTaken(emr, requested);
      if (by_offer) return { ehr_id: await bookOffer(emr, input, type, marker) };
      const free = await findFreeSlots(emr, requested, type);
      const created = await storeAppointment(client, { appointment, free, input, marker });
      return confirm(created, input, marker);
    },
    ...((by_offer ? canFindAtStart(emr) : client.canFind('Appointment')) && {
      find: async (marker, input) => {
        const created = by_offer
          ? await findLostOffer(emr, input, marker)
          : await findLostAppointment(emr, input, marker);
        return created && confirm(created, input, marker);
      },
    }),
  };
}

export async function findVisitType(emr: Emr, code: string): Promise<VisitType> {
  const types = await loadVisitTypes(emr);
  const type = types.get(code);
  if (type) return type;
  const available = [...types.keys()].join(', ');
  const message = `The EMR has no visit type '${code}'. Available: ${available}.`;
  throw new EmrFailure('refused', message, { code: 'unknown_value' });
}

async function toFhirAppointment(emr: Emr, input: NewAppointment, type: VisitType): Promise<fhir.Appointment> {
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
 * Some servers accept only appointments in exactly one slot, with the patient as the only participant, because the slot
 * says everything else. They reject the usual form. This is remembered once the server has accepted the other form. Until
 * then, a rejection means that there is no slot, if the provider has a schedule and no free slot at this time.
 */
async function storeAppointment(
  client: FhirClient,
  {
    appointment,
    free: { slots, has_schedule },
    input,
    marker,
  }: { appointment: fhir.Appointment; free: FreeSlots; input: NewAppointment; marker: string },
): Promise<fhir.Appointment> {
  if (client.capabilities.books_by_slot) return client.create(boundToSlot(appointment, slots, input), marker);
  const slot = slots.map((each) => ({ reference: `Slot/${each.id}` }));
  try {
    return await client.create<fhir.Appointment>({ ...appointment, ...(slot.length > 0 && { slot }) }, marker);
  } catch (error) {
    const rejected = error instanceof EmrFailure && error.kind === 'refused' && rejections.has(error.code);
    if (!rejected || error.not_offered || input.secondary_provider_ehr_id !== null) throw error;
    if (slots.length !== 1) throw has_schedule ? slotMissing(slots, error) : error;
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

/** How a server rejects participants or slots that it does not accept. */
const rejections: ReadonlySet<FailureCode> = new Set(['emr_validation', 'emr_refused', 'not_supported']);

function boundToSlot(
  appointment: fhir.Appointment,
  slots: readonly fhir.Slot[],
  input: NewAppointment,
): fhir.Appointment {
  rejectUnsupported({ secondary_provider: input.secondary_provider_ehr_id });
  const [slot, ...more] = slots;
  if (!slot || more.length > 0) throw slotMissing(slots);
  return {
    ...appointment,
    start: slot.start,
    end: slot.end,
    minutesDuration: undefined,
    slot: [{ reference: `Slot/${slot.id}` }],
    participant: appointment.participant.slice(0, 1),
  };
}

/** The failure of a booking for which there is no slot, with the EMR's own message. */
export function slotMissing(slots: readonly fhir.Slot[], cause?: EmrFailure): EmrFailure {
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
async function defaultMinutes(emr: Emr, input: NewAppointment): Promise<number> {
  return (await findFreeSlot(emr, input.provider_ehr_id, input.starts_at))?.minutes ?? input.default_minutes;
}

function toParticipants(input: NewAppointment): fhir.AppointmentParticipant[] {
  const participant = (reference: string, code?: string): fhir.AppointmentParticipant => ({
    actor: { reference },
    required: 'required',
    status: 'accepted',
    ...(code !== undefined && { type: [{ coding: [{ system: code_systems.participation, code }] }] }),
  });
  const secondary = input.secondary_provider_ehr_id;
  return [
    participant(`Patient/${input.patient_ehr_id}`),
    participant(`Practitioner/${input.provider_ehr_id}`, 'PPRF'),
    ...(secondary === null ? [] : [participant(`Practitioner/${secondary}`, 'SPRF')]),
    participant(`Location/${input.location_ehr_id}`),
  ];
}

export async function throwIfTaken(emr: Emr, requested: Booking): Promise<void> {
  if (!canSearch(emr.client, 'Appointment', ['date'])) throw unsupportedField('prevent_double_booking');
  throwOnConflict((await findConflicts(emr, requested))[0]);
}

/**
 * Two accounts may find the same time free and both book it. The appointment that was stored later is cancelled. Each
 * sees the other, so exactly one remains.
 */
async function resolveDoubleBooking(
  emr: Emr,
  created: fhir.Appointment,
  input: NewAppointment,
  marker: string,
): Promise<void> {
  if (!emr.client.capabilities.interactions('Appointment').has('update')) return;
  const booking = toBooking(emr, input, created);
  const conflicts = await afterCreate('', () => findAppointmentConflicts(emr, booking));
  const earlier = conflicts.find(({ appointment }) => appointment && storageKey(appointment) < storageKey(created));
  if (earlier) throw await withdraw(emr, created, marker, earlier);
}

/**
 * Cancels an appointment that lost its time to another one, and returns the failure. The slots are freed first: after an
 * interruption, the appointment is still found by its marker and cancelled again.
 */
async function withdraw(
  emr: Emr,
  created: fhir.Appointment,
  marker: string,
  conflict: Conflict = { type: 'appointment', details: 'The provider has another appointment at this time.' },
): Promise<EmrFailure> {
  const cancel = (current: fhir.Appointment): fhir.Appointment => ({
    ...current,
    status: 'cancelled',
    cancelationReason: { text: 'Double booking' },
  });
  await afterCreate('The appointment overlaps another one and could not be cancelled.', async () => {
    await releaseSlots(emr, created, marker);
    if (created.status === 'cancelled') return;
    await emr.client.update<fhir.Appointment>('Appointment', requireId(created), cancel, marker);
  });
  return conflictFailure(conflict);
}

function toBooking({ timezone }: Emr, input: NewAppointment, { id, end }: fhir.Appointment): Booking {
  return {
    id,
    provider_ehr_id: input.provider_ehr_id,
    location_ehr_id: input.location_ehr_id,
    starts_at: input.starts_at,
    from_ms: toInstant(input.starts_at, timezone),
    to_ms: Date.parse(end ?? ''),
  };
}

/**
 * The appointment that a lost create stored, by its marker. Undefined if the patient has no appointment at this time that
 * could be it; throws `unknown_outcome` if it cannot be determined.
 */
async function findLostAppointment(
  emr: Emr,
  input: NewAppointment,
  marker: string,
): Promise<fhir.Appointment | undefined> {
  const { record, proven } = await findLost<fhir.Appointment>(emr.client, 'Appointment', marker);
  if (proven) return record;
  const lost = pickNew(await findAtStart(emr, input), marker);
  // Without our marker, it may have been booked by someone else.
  if (lost && !readMarkers(lost).includes(marker)) throw unproven();
  return lost;
}

export const booking_operations: readonly FhirOperation[] = [
  {
    operation: 'createAppointment',
    requires: [can('Appointment', 'create')],
    unsupported_fields: ['new_patient'],
    field_requires: {
      prevent_double_booking: [searches('Appointment', 'date')],
      secondary_provider: [{ ...can('Appointment', 'create'), books_people: true }],
    },
    open: createAppointment,
  },
];
