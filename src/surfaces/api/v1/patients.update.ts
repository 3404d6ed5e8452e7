import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { PatientChanges } from '../../../model/patientRequest.ts';
import { patchPatient } from '../../../product/writes/patients/patchPatient.ts';
import { findNamedDoctors } from '../../../product/writes/patients/patientReferences.ts';

export default endpoint({
  id: 'patients.update',
  surface: 'api',
  group: 'Patients',
  method: 'PATCH',
  path: '/v1/patients/{id}',
  auth: 'account',
  summary: 'Update a patient',
  agent_tool: true,
  params: Type.Object({ id: Type.String({ description: 'The patient’s `id` from GET /v1/patients' }) }),
  body: PatientChanges,
  response: Type.Object({
    success,
    message: Type.String({ examples: ['Patient update queued. A webhook event follows on completion.'] }),
    job_id: Type.Optional(Type.Integer({ description: 'Present if a job was queued' })),
  }),
  errors: [
    'operation_not_offered',
    'no_field',
    'fixed_field',
    'restricted_field',
    'unsupported_field',
    'provider_not_found',
    'location_not_found',
    'pharmacy_not_found',
    'record_not_found',
    'record_unnamed',
    'first_sync_pending',
  ],
  // The creation of a patient that failed is attempted again with the changes.
  events: ['patient.updated', 'patient.update_failed', 'patient.created', 'patient.failed'],
  example: { body: { phone: '315-555-0109', email: 'ada.testpatient@example.org' } },
  found_in: { id: 'GET /v1/patients?mrn=LK100001#/patients/0/id' },
  handle: async ({ ctx, account, params, body, auditPatients, auditSubject, inTransaction }) => {
    // Before the transaction: it must not wait for the EMR.
    const named = await findNamedDoctors(ctx, account, body);
    const response = await inTransaction(async (tx) => {
      const id = parseId(params.id);
      const result = id && (await patchPatient(ctx, tx, account, id, body, named));
      if (!result) throw apiError('record_not_found', { noun: 'Patient', id: params.id }, { field: 'id' });
      const { mrn, ...fields } = result;
      auditPatients([mrn]);
      auditSubject({ job_id: fields.job_id });
      return { success: true, ...fields };
    });
    ctx.notifications.notify('chartwire_jobs', account.client_id);
    return response;
  },
});
