import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { createAppointment } from '../../../product/writes/appointments/appointment.create.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

const ids = { appointment_id: Type.String(), job_id: Type.Integer() };

export default writeEndpoint(createAppointment, {
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
