import type * as fhir from 'fhir/r4.js';
import { instantOf, withOffset } from '../../time/zones.ts';
import { EmrFailure, type EmrWrite, type Operations } from '../connector.ts';
import { participation } from './appointments.ts';
import { type Booking, conflictsOf, refuseConflict, slotAt } from './conflicts.ts';
import { afterwards, idOf, refuseUnplaced } from './parts.ts';
import { canSearch, type Emr } from './references.ts';
import { text } from './values.ts';
import { visitTypesOf } from './visitCodes.ts';

type Write = Operations['createAppointment'];
type Input = Write extends EmrWrite<infer In, infer _Out> ? In : never;

/** FHIR keeps nobody from booking a time twice, so who must not is looked for before the booking and after it. */
export function createAppointment(emr: Emr): Write {
  const { client } = emr;
  const settle = async (made: fhir.Appointment, input: Input, marker: string) => {
    if (input.prevent_double_booking) await giveWay(emr, made, input, marker);
    return { ehr_id: idOf(made) };
  };
  return {
    send: async (input, marker) => {
      // Else it would stand in its own way.
      const present =
        client.canFind('Appointment') && (await client.findByMarker<fhir.Appointment>('Appointment', marker));
      if (present) return settle(present, input, marker);
      const appointment = await appointmentFrom(emr, input);
      if (input.prevent_double_booking) await refuseTaken(emr, input, appointment);
      return settle(await client.create(appointment, marker), input, marker);
    },
    ...(client.canFind('Appointment') && {
      find: async (marker, input) => {
        const made = await client.findByMarker<fhir.Appointment>('Appointment', marker);
        return made && settle(made, input, marker);
      },
    }),
  };
}

async function appointmentFrom(emr: Emr, input: Input): Promise<fhir.Appointment> {
  refuseUnplaced({ new_patient: input.new_patient });
  const types = await visitTypesOf(emr);
  const type = types.get(input.visit_type);
  if (!type) {
    const known = [...types.keys()].join(', ');
    throw new EmrFailure('refused', `The EMR does not know the visit type '${input.visit_type}'. It knows: ${known}.`);
  }
  const concept = { coding: [type.coding] };
  const minutes = input.minutes ?? (await slotAt(emr, input.provider_ehr_id, input.starts_at))?.minutes;
  if (minutes === undefined) {
    throw new EmrFailure('refused', 'The EMR has no usual duration for this visit: duration must be sent.');
  }
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
    participant: participantsOf(input),
  };
}

function participantsOf(input: Input): fhir.AppointmentParticipant[] {
  const taking = (reference: string, code?: string): fhir.AppointmentParticipant => ({
    actor: { reference },
    required: 'required',
    status: 'accepted',
    ...(code !== undefined && { type: [{ coding: [{ system: participation, code }] }] }),
  });
  const second = input.secondary_provider_ehr_id;
  return [
    taking(`Patient/${input.patient_ehr_id}`),
    taking(`Practitioner/${input.provider_ehr_id}`, 'PPRF'),
    ...(second === null ? [] : [taking(`Practitioner/${second}`, 'SPRF')]),
    taking(`Location/${input.location_ehr_id}`),
  ];
}

async function refuseTaken(emr: Emr, input: Input, appointment: fhir.Appointment): Promise<void> {
  if (!canSearch(emr.client, 'Appointment', ['date'])) {
    throw new EmrFailure('refused', 'The EMR cannot be asked whether the provider is free.');
  }
  refuseConflict((await conflictsOf(emr, bookingOf(emr, input, appointment)))[0]);
}

/**
 * Two accounts may have looked at the same time and both found it free. Of two that overlap the one that was stored
 * later gives way; each sees the other, so exactly one stays.
 */
async function giveWay(emr: Emr, made: fhir.Appointment, input: Input, marker: string): Promise<void> {
  if (!emr.client.capabilities.interactions('Appointment').has('update')) return;
  const conflicts = await afterwards('', () => conflictsOf(emr, bookingOf(emr, input, made), 'appointments'));
  const earlier = conflicts.find(({ appointment }) => appointment && stored(appointment) < stored(made));
  const withdrawn = made.status === 'cancelled';
  if (!earlier && !withdrawn) return;
  if (!withdrawn) {
    const cancel = (current: fhir.Appointment): fhir.Appointment => ({
      ...current,
      status: 'cancelled',
      cancelationReason: { text: 'Booked twice at the same time' },
    });
    await afterwards('The appointment overlaps another one and could not be taken back.', () =>
      emr.client.update<fhir.Appointment>('Appointment', idOf(made), cancel, marker),
    );
  }
  refuseConflict(earlier ?? { type: 'appointment', details: 'The provider has another appointment at this time.' });
}

/** When it was stored, as texts that sort; of two at one instant the lower id counts as the first. */
function stored({ meta, id }: fhir.Appointment): string {
  const ms = Date.parse(meta?.lastUpdated ?? '') || 0;
  return `${String(ms).padStart(16, '0')} ${id}`;
}

function bookingOf({ timezone }: Emr, input: Input, { id, end }: fhir.Appointment): Booking {
  return {
    id,
    provider_ehr_id: input.provider_ehr_id,
    starts_at: input.starts_at,
    from_ms: instantOf(input.starts_at, timezone),
    to_ms: Date.parse(end ?? ''),
  };
}
