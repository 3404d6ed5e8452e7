import { toInstant } from '../../platform/time/zones.ts';
import { EmrFailure } from '../emrFailure.ts';
import { conflictFailure } from '../fhir/appointments/conflicts.ts';
import { unreadable_response } from '../fhir/transport/call.ts';
import { afterCreate, rejectUnsupported } from '../fhir/writeSteps.ts';
import type { NewAppointment } from '../operations/appointments.ts';
import type { Operations } from '../operations/operations.ts';
import { withTextMarker } from '../textMarkers.ts';
import { isCancelled, readAll, readAppointment, readId, readPatientAppointments, readTimes } from './appointments.ts';
import {
  type OpenEmr,
  type OpenEmrOperation,
  readPatient,
  requireListed,
  requirePatient,
  scopes,
} from './operation.ts';
import { field, isRow, type Row } from './rows.ts';

/** A requested time of a provider, by OpenEMR's numbers. */
type Booking = { patient: string; provider: string; day: string; clock: string; minutes: number };

/** OpenEMR checks no conflicts, and books the same request twice. The marker is in the appointment's text. */
function createAppointment(emr: OpenEmr): Operations['createAppointment'] {
  const { rest, people, timezone } = emr;
  return {
    send: async (input, marker) => {
      rejectUnsupported({
        secondary_provider: input.secondary_provider_ehr_id,
        new_patient: input.new_patient,
      });
      const visit_type = requireVisitType(emr, input.visit_type);
      requireOnlyTime(input.starts_at, timezone);
      const title = input.reason ?? visit_type.description;
      if ([...title].length < 2 || [...title].length > 150) {
        const message = 'OpenEMR requires a reason of 2 to 150 characters.';
        throw new EmrFailure('refused', message, { code: 'emr_validation' });
      }
      const facility = requireListed(await people.facilities(), input.location_ehr_id, 'location').number;
      const provider = requireListed(await people.practitioners(), input.provider_ehr_id, 'provider').number;
      const patient = await requirePatient(emr, input.patient_ehr_id);
      const booking = toBooking(emr, input, patient, provider);
      const earlier = await findBooked(emr, booking, marker);
      if (earlier !== undefined) return settle(emr, booking, earlier, input);
      if (input.prevent_double_booking) throwOnConflict(await findConflicts(emr, booking));
      const created = await rest.write({
        method: 'POST',
        path: ['patient', patient, 'appointment'],
        scope: 'appointment.write',
        body: {
          pc_catid: visit_type.code,
          pc_title: title,
          pc_duration: String(booking.minutes * 60),
          pc_hometext: withTextMarker([input.note], marker),
          pc_apptstatus: '-',
          pc_eventDate: booking.day,
          pc_startTime: booking.clock,
          pc_facility: facility,
          pc_billing_location: facility,
          pc_aid: provider,
        },
      });
      const ehr_id = isRow(created) ? field(created, 'id') : null;
      if (ehr_id === null) throw new EmrFailure('unknown_outcome', unreadable_response);
      return settle(emr, booking, ehr_id, input);
    },
    find: async (marker, input) => {
      const record = await readPatient(emr, input.patient_ehr_id);
      const provider = (await people.practitioners()).find((each) => each.ehr_id === input.provider_ehr_id);
      const patient = record && field(record, 'pid', 'id');
      if (!patient || !provider) return undefined;
      const booking = toBooking(emr, input, patient, provider.number);
      const ehr_id = await findBooked(emr, booking, marker);
      if (ehr_id === undefined) return undefined;
      // To be withdrawn by `send`.
      if (input.prevent_double_booking && (await findEarlier(emr, booking, ehr_id))) return undefined;
      return { ehr_id };
    },
  };
}

function toBooking({ visit_types }: OpenEmr, input: NewAppointment, patient: string, provider: string): Booking {
  const visit_type = visit_types.find(({ code }) => code === input.visit_type);
  return {
    patient,
    provider,
    day: input.starts_at.slice(0, 10),
    clock: input.starts_at.slice(11, 16),
    minutes: input.minutes ?? visit_type?.minutes ?? input.default_minutes,
  };
}

/** The appointment that an earlier attempt booked. Its text is in its own record only. */
async function findBooked(
  emr: OpenEmr,
  { patient, provider, day, clock }: Booking,
  marker: string,
): Promise<string | undefined> {
  const candidates = (await readPatientAppointments(emr, patient)).filter(
    (row) =>
      field(row, 'pc_eventDate') === day &&
      field(row, 'pc_startTime')?.slice(0, 5) === clock &&
      field(row, 'pc_aid') === provider,
  );
  for (const candidate of candidates) {
    const row = await readAppointment(emr, readId(candidate));
    if (row && field(row, 'pc_hometext')?.includes(marker)) return readId(candidate);
  }
  return undefined;
}

/**
 * Of appointments that were booked for the same time at the same moment, the one with the lowest number stays. It was
 * stored first, so that every other one sees it and is withdrawn.
 */
async function settle(
  emr: OpenEmr,
  booking: Booking,
  ehr_id: string,
  { prevent_double_booking }: NewAppointment,
): Promise<{ ehr_id: string }> {
  if (!prevent_double_booking) return { ehr_id };
  const earlier = await afterCreate('The appointment was booked.', () => findEarlier(emr, booking, ehr_id));
  if (!earlier) return { ehr_id };
  await afterCreate('The time was taken at the same moment, and the appointment could not be removed.', () =>
    emr.rest.write({
      method: 'DELETE',
      path: ['patient', booking.patient, 'appointment', ehr_id],
      scope: 'appointment.write',
    }),
  );
  throw slotTaken(earlier);
}

/** An appointment at this time that was stored before this one. */
async function findEarlier(emr: OpenEmr, booking: Booking, ehr_id: string): Promise<Row | undefined> {
  const conflicts = await findConflicts(emr, booking);
  return conflicts.find((row) => Number(readId(row)) < Number(ehr_id));
}

/** The provider's appointments at this time. */
async function findConflicts(emr: OpenEmr, { provider, day, clock, minutes }: Booking): Promise<Row[]> {
  const from_min = Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5));
  const rows = (await readAll(emr)).filter(
    (row) => field(row, 'pc_aid') === provider && field(row, 'pc_eventDate') === day && !isCancelled(row),
  );
  const conflicts: Row[] = [];
  for (const row of rows) {
    // Starts after the requested time: its length does not matter, and may need a request of its own.
    if ((field(row, 'pc_startTime') ?? '') >= toClock(from_min + minutes)) continue;
    const times = await readTimes(emr, row);
    if (times.to_min > from_min) conflicts.push(row);
  }
  return conflicts;
}

function toClock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

function throwOnConflict([conflict]: readonly Row[]): void {
  if (conflict) throw slotTaken(conflict);
}

function slotTaken(row: Row): EmrFailure {
  const details = `The provider has an appointment from ${field(row, 'pc_startTime')?.slice(0, 5) ?? '?'}.`;
  return conflictFailure({ type: 'appointment', details });
}

/** OpenEMR books into categories that do not exist. */
export function requireVisitType({ visit_types }: OpenEmr, code: string) {
  const visit_type = visit_types.find((each) => each.code === code);
  if (visit_type) return visit_type;
  const message =
    visit_types.length === 0
      ? 'No visit types are set for this organization. OpenEMR’s API does not list them: set them in the dashboard.'
      : 'This visit type is not among those that are set for this organization.';
  throw new EmrFailure('refused', message, { code: 'unknown_value' });
}

/** OpenEMR stores local times without an offset, so that the second of two equal times cannot be booked. */
function requireOnlyTime(starts_at: string, timezone: string): void {
  if (toInstant(starts_at.slice(0, 19), timezone) === Date.parse(starts_at)) return;
  const message = 'OpenEMR cannot tell the two hours apart when clocks go back. Choose another time.';
  throw new EmrFailure('refused', message, { code: 'emr_validation' });
}

export const booking_operations: readonly OpenEmrOperation[] = [
  {
    operation: 'createAppointment',
    requires: [scopes('appointment.read', 'appointment.write', 'patient.read', 'practitioner.read', 'facility.read')],
    unsupported_fields: ['secondary_provider', 'new_patient'],
    open: createAppointment,
  },
];
