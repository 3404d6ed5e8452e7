import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { PatientChanges } from '../../../model/requests/patients.ts';
import { addPatientInsurance } from '../../../product/writes/insurance/patientInsurance.add.ts';
import { updatePatientInsurance } from '../../../product/writes/insurance/patientInsurance.update.ts';
import { patchPatient } from '../../../product/writes/patients/patchPatient.ts';
import { createPatient } from '../../../product/writes/patients/patient.create.ts';
import { fetchPatients } from '../../../product/writes/patients/patient.fetch.ts';
import { findNamedDoctors } from '../../../product/writes/patients/patientReferences.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

const ids = { patient_id: Type.String(), job_id: Type.Integer() };

export const patientsCreate = writeEndpoint(createPatient, {
  id: 'patients.create',
  group: 'Patients',
  method: 'POST',
  path: '/v1/patients',
  summary: 'Create a patient',
  agent_tool: true,
  response: Type.Object({
    success,
    message: Type.String(),
    ...ids,
    data: Type.Object(ids, { description: 'The same IDs as above' }),
  }),
  errors: [
    'operation_not_offered',
    'restricted_field',
    'unsupported_field',
    'provider_not_found',
    'location_not_found',
    'pharmacy_not_found',
    'record_not_found',
    'first_sync_pending',
  ],
  events: ['patient.created', 'patient.failed'],
});

export const patientsUpdate = endpoint({
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
      const result = id && (await patchPatient(ctx, tx, account, { id, changes: body, named }));
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

export const patientsFetch = writeEndpoint(fetchPatients, {
  id: 'patients.fetch',
  group: 'Patients',
  method: 'POST',
  path: '/v1/patients/fetch',
  summary: 'Fetch patients live from the EMR',
  agent_tool: 'fetch_patients_from_emr',
  description:
    'The result, with the patients’ charts, is sent as an event. `search_by` determines which other fields are required; additional ones are ignored. No match is a success with an empty list. `include` can contain `insurances`.',
  response: Type.Object({ success, message: Type.String(), job_id: Type.Integer() }),
  errors: ['operation_not_offered', 'restricted_field', 'unsupported_field'],
  events: ['patient.live_fetch_completed', 'patient.live_fetch_failed'],
});

export const patientsInsurancesCreate = writeEndpoint(addPatientInsurance, {
  id: 'patients.insurances.create',
  group: 'Patient insurance',
  method: 'POST',
  path: '/v1/patients/{patient_mrn}/insurances',
  summary: 'Add an insurance',
  agent_tool: true,
  response: Type.Object({
    success,
    message: Type.String(),
    patient_insurance_id: Type.String(),
    job_id: Type.Integer(),
  }),
  errors: [
    'operation_not_offered',
    'insurance_company_missing',
    'record_not_found',
    'record_unnamed',
    'first_sync_pending',
  ],
  events: ['patient.insurance.added', 'patient.insurance.failed'],
});

export const patientsInsurancesUpdate = writeEndpoint(updatePatientInsurance, {
  id: 'patients.insurances.update',
  group: 'Patient insurance',
  method: 'PATCH',
  path: '/v1/patients/{patient_mrn}/insurances/{emr_insurance_id}',
  summary: 'Update an insurance',
  agent_tool: true,
  response: Type.Object({
    success,
    message: Type.String(),
    patient_insurance_id: Type.String(),
    job_id: Type.Integer(),
  }),
  errors: [
    'restricted_operation',
    'operation_not_offered',
    'no_field',
    'carrier_missing',
    'record_not_found',
    'record_unnamed',
    'first_sync_pending',
  ],
  events: ['patient.insurance.updated', 'patient.insurance.failed'],
});
