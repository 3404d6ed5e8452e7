import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { AvailabilityQuery, AvailabilityResponse } from '../../../model/availability.ts';
import { success } from '../../../model/fields.ts';
import { Appointment } from '../../../model/records/appointments.ts';
import { readAvailability } from '../../../product/records/readAvailability.ts';
import { readAppointment } from '../../../product/records/schedule.ts';
import { createAppointment } from '../../../product/writes/appointments/appointment.create.ts';
import { readPendingAppointment } from '../../../product/writes/appointments/pendingAppointment.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

const ids = { appointment_id: Type.String(), job_id: Type.Integer() };

export const appointmentsCreate = writeEndpoint(createAppointment, {
  id: 'appointments.create',
  group: 'Appointments',
  method: 'POST',
  path: '/v1/appointments',
  summary: 'Create an appointment',
  agent_tool: true,
  description:
    'Send either `datetime`, or `date` and `time` in the time zone of the practice. With `prevent_double_booking` the EMR rejects a time at which the provider is not free, and the event describes the conflict.',
  response: Type.Object({
    success,
    message: Type.String(),
    ...ids,
    data: Type.Object(ids, { description: 'The same IDs as above' }),
  }),
  errors: [
    'operation_not_offered',
    'unsupported_field',
    'location_not_found',
    'location_inactive',
    'provider_not_found',
    'provider_inactive',
    'first_sync_pending',
  ],
  events: ['appointment.created', 'appointment.failed'],
});

export const appointmentsGet = endpoint({
  id: 'appointments.get',
  surface: 'api',
  group: 'Appointments',
  method: 'GET',
  path: '/v1/appointments/{id}',
  auth: 'account',
  needs: { operation: 'listAppointments', label: 'appointments' },
  summary: 'Retrieve an appointment',
  agent_tool: true,
  description: 'While the appointment is waiting to be written to the EMR, its status is `pending`.',
  params: Type.Object({ id: Type.String({ description: 'The appointment_id of its request or event' }) }),
  response: Type.Object({ success, appointment: Appointment }),
  errors: ['record_not_found'],
  found_in: { id: 'sandbox#/appointment_id' },
  handle: async ({ ctx, account, params, auditPatients }) => {
    const id = parseId(params.id);
    const appointment = id && (await readAppointment(ctx.db, account, id));
    const pending = id && !appointment ? await readPendingAppointment(ctx, account, id) : undefined;
    if (pending) {
      auditPatients([pending.patient_mrn]);
      return { success: true, appointment: pending };
    }
    if (!appointment) throw apiError('record_not_found', { noun: 'Appointment', id: params.id }, { field: 'id' });
    auditPatients(appointment.mrns);
    return new JsonText(appointment.body);
  },
});

export const availabilityList = endpoint({
  id: 'availability.list',
  surface: 'api',
  group: 'Appointments',
  method: 'GET',
  path: '/v1/availability',
  auth: 'account',
  summary: 'List availability',
  agent_tool: true,
  description:
    'Returns when providers are free, based on their hours and schedule. `gaps` returns the maximal free ranges within shifts, `slots` the visit-type rules that have visits left, and `equal_slots` ranges of exactly `max_slot_duration` minutes. Inactive and hidden providers are excluded.',
  query: AvailabilityQuery,
  response: AvailabilityResponse,
  errors: ['provider_not_found', 'location_not_found', 'first_sync_pending'],
  handle: ({ ctx, account, query }) => readAvailability(ctx.db, account, query),
});
