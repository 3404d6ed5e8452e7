import { Type } from 'typebox';
import { AvailabilityResponse } from '../availability.ts';
import { nullable } from '../fields.ts';
import { type EventKinds, reasons, refusal } from './event.ts';
import { changed_fields, syncData } from './syncData.ts';

/** An appointment that staff booked or changed. */
const staff_appointment = {
  appointment_id: Type.String(),
  ehr_appointment_id: Type.String(),
  mrn: nullable(Type.String()),
  date_time: Type.String({ description: 'Start of the appointment, with the offset of the EMR instance' }),
  status: nullable(Type.String({ description: 'The EMR’s status code', examples: ['CHK'] })),
  provider_id: Type.String(),
};
const changed_appointment = syncData({ ...staff_appointment, changed_fields });

export const appointment_events = {
  'appointment.created': {
    summary: 'The appointment was booked in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'appointment' },
    data: Type.Object({
      appointment_id: Type.String(),
      ehr_appointment_id: Type.String(),
      mrn: Type.String(),
      date_time: Type.String({ description: 'Start of the appointment, with the offset of the EMR instance' }),
      timezone: Type.String(),
      provider_id: Type.String(),
      provider_name: Type.String(),
      secondary_provider_id: nullable(Type.String()),
    }),
    sync_data: syncData(staff_appointment),
  },
  'appointment.status_updated': {
    summary: 'Staff changed the status of an appointment in the EMR, for example to checked in.',
    has_job_id: false,
    has_account_reference: true,
    trigger: { request: 'staff_appointment_status' },
    data: changed_appointment,
    sync_data: changed_appointment,
  },
  'appointment.failed': {
    summary:
      'The appointment was not booked. For a conflict, the event describes the conflicting appointment or block.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'blocked_appointment' },
    data: Type.Object({
      appointment_id: Type.String(),
      mrn: Type.String(),
      failure_reason: Type.String({ examples: ['The provider is not free at this time.'] }),
      reasons,
      conflict_type: Type.Optional(
        Type.String({
          description: 'What the provider has at this time: `appointment` or `block`',
          examples: ['appointment'],
        }),
      ),
      conflict_details: Type.Optional(
        Type.String({
          description: 'Description of the appointment or block',
          examples: ['Harper Samplewell, MD has an appointment from 10:00 to 10:20.'],
        }),
      ),
    }),
  },
  'appointment.updated': {
    summary: 'The appointment was changed in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'appointment_update' },
    data: Type.Object({
      id: Type.String(),
      ehr_appointment_id: Type.String(),
      patient_mrn: nullable(Type.String()),
      patient_name: nullable(Type.String()),
      datetime: Type.String({ description: 'Start of the appointment, with the offset of the EMR instance' }),
      duration: Type.Integer({ description: 'Length in minutes' }),
      location: Type.String({ description: 'EMR ID of the location' }),
      status: Type.String({ description: 'The EMR’s status code', examples: ['CON'] }),
      provider_name: nullable(Type.String()),
      appointment_type: Type.String(),
      appointment_mode: nullable(Type.String()),
    }),
    sync_data: changed_appointment,
  },
  'appointment.cancelled': {
    summary: 'The appointment was canceled in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'appointment_cancellation' },
    data: Type.Object({
      id: Type.String(),
      date_time: Type.String({ description: 'Start of the appointment, with the offset of the EMR instance' }),
      duration: Type.Integer({ description: 'Length in minutes' }),
      provider_id: Type.String(),
      provider_name: nullable(Type.String()),
      mrn: nullable(Type.String()),
      cancelled_at: Type.String({ format: 'date-time', description: 'When it was canceled' }),
    }),
    sync_data: changed_appointment,
  },
  'appointment.update_failed': {
    summary: 'The appointment was not changed and keeps the previous values.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'appointment_update', fault: refusal('update_appointment') },
    data: Type.Object({ id: Type.String(), failure_reason: Type.String(), reasons }),
  },
  'appointment.live_fetch_completed': {
    summary: 'The live fetch finished, and the cache has what it found.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'appointment_fetch' },
    data: Type.Object({
      success: Type.Boolean({ description: 'Always true' }),
      appointment_count: Type.Integer({ description: 'Number of appointments found' }),
      start_date: nullable(Type.String({ description: 'First day of the request' })),
      end_date: nullable(Type.String({ description: 'Last day of the request' })),
      appointments: Type.Array(
        Type.Object(
          {},
          {
            schema_name: 'LiveAppointment',
            description:
              'An appointment as in GET /v1/appointments, without notes; with `created_by` if it was searched by `mrn`',
            additionalProperties: true,
            examples: [
              {
                id: '01a1c5f0a4e87b21b3d94c6f7a8e9012',
                ehr_appointment_id: '80001',
                datetime: '2031-03-03T10:00:00-05:00',
                duration: 20,
                status: 'CON',
                patient_mrn: 'LK100001',
                provider_ehr_id: '501',
              },
            ],
          },
        ),
        { description: 'The appointments found' },
      ),
    }),
  },
  'appointment.live_fetch_failed': {
    summary: 'The live fetch of appointments failed.',
    has_job_id: true,
    has_account_reference: true,
    trigger: {
      request: 'appointment_fetch',
      unlinks_account: true,
      fault: { operation: 'list_appointments', kind: 'error_500' },
    },
    data: Type.Object({ failure_reason: Type.String(), reasons }),
  },
  'availability.live_fetch_completed': {
    summary: 'The live fetch finished, with the times at which the providers are free.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'availability_fetch' },
    data: Type.Object({
      success: Type.Boolean({ description: 'Always true' }),
      start_date: Type.String({ description: 'First day of the request' }),
      end_date: Type.String({ description: 'Last day of the request' }),
      ...AvailabilityResponse.properties.results.properties,
      timezone: Type.String(),
    }),
  },
  'availability.live_fetch_failed': {
    summary: 'The live fetch of availability failed.',
    has_job_id: true,
    has_account_reference: true,
    trigger: {
      request: 'availability_fetch',
      unlinks_account: true,
      fault: { operation: 'list_appointments', kind: 'error_500' },
    },
    data: Type.Object({ failure_reason: Type.String(), reasons }),
  },
} as const satisfies EventKinds;
