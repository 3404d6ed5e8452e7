import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { AvailabilityQuery, AvailabilityResponse } from '../../../model/availability.ts';
import { success } from '../../../model/fields.ts';
import { Appointment } from '../../../model/records/appointments.ts';
import { AppointmentChanges } from '../../../model/requests/appointments.ts';
import { readAppointment } from '../../../product/records/appointments.ts';
import { readAvailability } from '../../../product/records/readAvailability.ts';
import { referenceError } from '../../../product/records/readRecords.ts';
import { createAppointment } from '../../../product/writes/appointments/appointment.create.ts';
import { fetchAppointments } from '../../../product/writes/appointments/appointment.fetch.ts';
import { fetchAvailability } from '../../../product/writes/appointments/availability.fetch.ts';
import { patchAppointment } from '../../../product/writes/appointments/patchAppointment.ts';
import { withDryRun } from '../dryRun.ts';
import { for_reads, for_writes } from '../limitedSecrets.ts';
import { withReference, writeEndpoint } from '../writeEndpoint.ts';

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
  limited_secrets: for_reads,
  needs: { operation: 'listAppointments', label: 'appointments' },
  summary: 'Retrieve an appointment',
  agent_tool: true,
  description:
    'While the appointment is waiting to be written to the EMR, its status is `pending`. If it was not booked, its status is `failed`, with the reason.',
  params: Type.Object({ id: Type.String({ description: 'The appointment_id of its request or event' }) }),
  response: Type.Object({ success, appointment: Appointment }),
  errors: ['record_not_found'],
  found_in: { id: 'sandbox#/appointment_id' },
  handle: async ({ ctx, account, params, auditPatients }) => {
    const id = parseId(params.id);
    const appointment = id && (await readAppointment(ctx.db, account, { id }));
    if (!appointment) throw apiError('record_not_found', { noun: 'Appointment', id: params.id }, { field: 'id' });
    auditPatients(appointment.mrns);
    return new JsonText(appointment.body);
  },
});

export const appointmentsUpdate = withDryRun(
  endpoint({
    id: 'appointments.update',
    surface: 'api',
    group: 'Appointments',
    method: 'PATCH',
    path: '/v1/appointments/{id}',
    auth: 'account',
    limited_secrets: for_writes,
    summary: 'Update an appointment',
    description:
      'A `pending` or `failed` appointment takes any field of its creation, which is then attempted with them. Otherwise the EMR is changed: `status`, `note`, or a reschedule.',
    params: Type.Object({ id: Type.String({ description: 'The appointment’s `id`' }) }),
    body: withReference(AppointmentChanges, 'changes'),
    response: withReference(
      Type.Object({
        success,
        message: Type.String({ examples: ['Appointment update queued. A webhook event follows on completion.'] }),
        appointment_id: Type.String(),
        job_id: Type.Optional(Type.Integer({ description: 'Present if a job was queued' })),
      }),
    ),
    errors: [
      'operation_not_offered',
      'no_field',
      'fixed_appointment_field',
      'appointment_in_progress',
      'edited_copy_exists',
      'appointment_time_taken',
      'unsupported_field',
      'location_not_found',
      'location_inactive',
      'provider_not_found',
      'provider_inactive',
      'record_not_found',
      'first_sync_pending',
    ],
    events: [
      'appointment.updated',
      'appointment.cancelled',
      'appointment.update_failed',
      // The booking of an appointment that failed is attempted again with the changes.
      'appointment.created',
      'appointment.failed',
    ],
    example: { body: { status: 'cancelled' } },
    found_in: { id: 'sandbox#/appointment_id' },
    handle: async ({ ctx, account, params, body, auditPatients, auditSubject, inTransaction }) => {
      const { reference, ...changes } = body;
      const response = await inTransaction(async (tx) => {
        const id = parseId(params.id);
        const patch = id && { id, changes, reference: reference ?? null };
        const result = patch && (await patchAppointment(ctx, tx, account, patch));
        if (!id || !result) throw apiError('record_not_found', { noun: 'Appointment', id: params.id }, { field: 'id' });
        const { mrn, ...fields } = result;
        auditPatients([mrn]);
        auditSubject({ subject: id, job_id: fields.job_id });
        return { success: true, appointment_id: id, ...fields, ...(reference !== undefined && { reference }) };
      });
      ctx.notifications.notify('chartwire_jobs', account.client_id);
      return response;
    },
  }),
);

export const appointmentsFetch = writeEndpoint(fetchAppointments, {
  id: 'appointments.fetch',
  group: 'Appointments',
  method: 'POST',
  path: '/v1/appointments/fetch',
  summary: 'Fetch appointments live from the EMR',
  limited_secrets: for_reads,
  quota: 'live_fetches',
  accepted_status: 202,
  description:
    'The result is sent as an event, and refreshes the cache. Days are in the time zone of the practice. A date range has at most 7 days; with `provider_ids`, 5 days for one provider and one day for several.',
  response: Type.Object({ success, message: Type.String(), job_id: Type.Integer() }),
  errors: ['operation_not_offered', 'unsupported_field', 'provider_not_found', 'first_sync_pending'],
  events: ['appointment.live_fetch_completed', 'appointment.live_fetch_failed'],
});

export const appointmentsGetByEhrId = endpoint({
  id: 'appointments.get-by-ehr-id',
  surface: 'api',
  group: 'Appointments',
  method: 'GET',
  path: '/v1/appointments/ehr/{ehr_id}',
  auth: 'account',
  limited_secrets: for_reads,
  needs: { operation: 'listAppointments', label: 'appointments' },
  summary: 'Retrieve an appointment by its EMR ID',
  agent_tool: true,
  params: Type.Object({ ehr_id: Type.String({ description: 'The appointment’s `ehr_appointment_id`' }) }),
  response: Type.Object({ success, appointment: Appointment }),
  errors: ['record_not_found', 'first_sync_pending'],
  found_in: { ehr_id: 'sandbox#/appointment_ehr_id' },
  handle: async ({ ctx, account, params: { ehr_id }, auditPatients }) => {
    const appointment = await readAppointment(ctx.db, account, { ehr_id });
    if (!appointment) {
      const unknown = apiError('record_not_found', { noun: 'Appointment', id: ehr_id }, { field: 'ehr_id' });
      throw await referenceError(ctx.db, account, ['appointments'], unknown);
    }
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
  limited_secrets: for_reads,
  summary: 'List availability',
  agent_tool: true,
  description:
    'Returns when providers are free, based on their hours and schedule. `gaps` returns the maximal free ranges within shifts, `slots` the visit-type rules that have visits left, and `equal_slots` ranges of exactly `max_slot_duration` minutes. Inactive and hidden providers are excluded.',
  query: AvailabilityQuery,
  response: AvailabilityResponse,
  errors: ['provider_not_found', 'location_not_found', 'first_sync_pending'],
  handle: ({ ctx, account, query }) => readAvailability(ctx.db, account, query),
});

export const availabilityFetch = writeEndpoint(fetchAvailability, {
  id: 'availability.fetch',
  group: 'Appointments',
  method: 'POST',
  path: '/v1/availability/fetch',
  summary: 'Fetch availability live from the EMR',
  limited_secrets: for_reads,
  quota: 'live_fetches',
  accepted_status: 202,
  description:
    'Reads the hours, blocks and appointments of up to 10 providers in the EMR and sends the free times as an event: up to 5 days for one provider, one day for several. The options are those of `GET /v1/availability`.',
  response: Type.Object({ success, message: Type.String(), job_id: Type.Integer() }),
  errors: [
    'operation_not_offered',
    'unsupported_field',
    'provider_not_found',
    'location_not_found',
    'first_sync_pending',
  ],
  events: ['availability.live_fetch_completed', 'availability.live_fetch_failed'],
});
