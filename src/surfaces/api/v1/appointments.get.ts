import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { Appointment } from '../../../model/records/appointments.ts';
import { readAppointment } from '../../../product/records/schedule.ts';
import { readPendingAppointment } from '../../../product/writes/appointments/pendingAppointment.ts';

export default endpoint({
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
    const found = id && (await readAppointment(ctx.db, account, id));
    const pending = id && !found ? await readPendingAppointment(ctx, account, id) : undefined;
    if (pending) {
      auditPatients([pending.patient_mrn]);
      return { success: true, appointment: pending };
    }
    if (!found) throw apiError('record_not_found', { noun: 'Appointment', id: params.id }, { field: 'id' });
    auditPatients(found.mrns);
    return new JsonText(found.body);
  },
});
