import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint, JsonText } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { Appointment } from '../../model/appointment.ts';
import { success } from '../../model/fields.ts';
import { readAppointment } from '../../records/appointments.ts';

export default endpoint({
  id: 'appointments.get',
  surface: 'api',
  group: 'Appointments',
  method: 'GET',
  path: '/v1/appointments/{id}',
  auth: 'account',
  needs: { operation: 'listAppointments', label: 'appointments' },
  summary: 'Retrieve an appointment',
  params: Type.Object({ id: Type.String() }),
  response: Type.Object({ success, appointment: Appointment }),
  errors: ['record_not_found'],
  found_in: { id: 'sandbox#/appointment_id' },
  handle: async ({ ctx, account, params, auditPatients }) => {
    const id = parseId(params.id);
    const shown = id && (await readAppointment(ctx.db, account, id));
    if (!shown) throw apiError('record_not_found', { noun: 'Appointment', id: params.id }, { field: 'id' });
    auditPatients(shown.mrns);
    return new JsonText(shown.body);
  },
});
