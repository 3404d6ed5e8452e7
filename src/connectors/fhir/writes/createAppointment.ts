import type * as fhir from 'fhir/r4.js';
import { instantOf, withOffset } from '../../../time/zones.ts';
import { EmrFailure, type EmrWrite, type Operations } from '../../connector.ts';
import { unsupportedField } from '../../fieldSupport.ts';
import { participation_system } from '../lists/appointments.ts';
import { visitTypesOf } from '../lists/visitCodes.ts';
import { canSearch, type Emr } from '../references.ts';
import { text } from '../values.ts';
import { type Booking, findConflicts, findFreeSlot, throwOnConflict } from './conflicts.ts';
import { requireRecords } from './requireRecords.ts';
import { afterCreate, idOf, rejectUnsupported } from './steps.ts';

type Write = Operations['createAppointment'];
type Input = Write extends EmrWrite<infer In, infer _Out> ? In : never;

/** FHIR does not prevent double bookings, so conflicts are searched before and after the create. */
export function createAppointment(emr: Emr): Write {
  const { client } = emr;
  const confirm = async (created: fhir.Appointment, input: Input, marker: string) => {
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
      const appointment = await toFhirAppointment(emr, input);
      if (input.prevent_double_booking) await throwIfTaken(emr, input, appointment);
      return confirm(await client.create(appointment, marker), input, marker);
    },
    ...(client.canFind('Appointment') && {
      find: async (marker, input) => {
        const created = await client.findByMarker<fhir.Appointment>('Appointment', marker);
        return created && confirm(created, input, marker);
      },
    }),
  };
}

async function toFhirAppointment(emr: Emr, input: Input): Promise<fhir.Appointment> {
  rejectUnsupported({ new_patient: input.new_patient });
  const types = await visitTypesOf(emr);
  const type = types.get(input.visit_type);
  if (!type) {
    const known = [...types.keys()].join(', ');
    const message = `The EMR has no visit type '${input.visit_type}'. Available: ${known}.`;
    throw new EmrFailure('refused', message, { code: 'unknown_value' });
  }
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

async function throwIfTaken(emr: Emr, input: Input, appointment: fhir.Appointment): Promise<void> {
  if (!canSearch(emr.client, 'Appointment', ['date'])) {
    throw unsupportedField('prevent_double_booking');
  }
  throwOnConflict((await findConflicts(emr, toBooking(emr, input, appointment)))[0]);
}

/**
 * Two accounts may find the same time free and both book it. The appointment that was stored later is cancelled. Each
 * sees the other, so exactly one remains.
 */
async function resolveDoubleBooking(emr: Emr, created: fhir.Appointment, input: Input, marker: string): Promise<void> {
  if (!emr.client.capabilities.interactions('Appointment').has('update')) return;
  const conflicts = await afterCreate('', () => findConflicts(emr, toBooking(emr, input, created), 'appointments'));
  const earlier = conflicts.find(({ appointment }) => appointment && storageKey(appointment) < storageKey(created));
  const cancelled = created.status === 'cancelled';
  if (!earlier && !cancelled) return;
  if (!cancelled) {
    const cancel = (current: fhir.Appointment): fhir.Appointment => ({
      ...current,
      status: 'cancelled',
      cancelationReason: { text: 'Double booking' },
    });
    await afterCreate('The appointment overlaps another one and could not be cancelled.', () =>
      emr.client.update<fhir.Appointment>('Appointment', idOf(created), cancel, marker),
    );
  }
  throwOnConflict(earlier ?? { type: 'appointment', details: 'The provider has another appointment at this time.' });
}

/** A sort key for the time of storage. At the same instant, the lower id is first. */
function storageKey({ meta, id }: fhir.Appointment): string {
  const ms = Date.parse(meta?.lastUpdated ?? '') || 0;
  return `${String(ms).padStart(16, '0')} ${id}`;
}

function toBooking({ timezone }: Emr, input: Input, { id, end }: fhir.Appointment): Booking {
  return {
    id,
    provider_ehr_id: input.provider_ehr_id,
    starts_at: input.starts_at,
    from_ms: instantOf(input.starts_at, timezone),
    to_ms: Date.parse(end ?? ''),
  };
}
