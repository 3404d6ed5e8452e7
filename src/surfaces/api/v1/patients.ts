import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success, sync_state } from '../../../model/fields.ts';
import { PatientInsuranceRecord, patientInsurances } from '../../../model/records/patientInsurances.ts';
import { PatientById } from '../../../model/records/patients.ts';
import { byStatus } from '../../../model/records/recordKind.ts';
import { PatientChanges } from '../../../model/requests/patients.ts';
import { listInsurances } from '../../../product/records/patientInsurances.ts';
import { findPatientById } from '../../../product/records/patients.ts';
import { referenceError } from '../../../product/records/readRecords.ts';
import { addPatientInsurance } from '../../../product/writes/insurance/patientInsurance.add.ts';
import { updatePatientInsurance } from '../../../product/writes/insurance/patientInsurance.update.ts';
import { patchPatient } from '../../../product/writes/patients/patchPatient.ts';
import { createPatient } from '../../../product/writes/patients/patient.create.ts';
import { fetchPatients } from '../../../product/writes/patients/patient.fetch.ts';
import { findNamedDoctors } from '../../../product/writes/patients/patientReferences.ts';
import { withDryRun } from '../dryRun.ts';
import { for_reads, for_writes } from '../limitedSecrets.ts';
import { withReference, writeEndpoint } from '../writeEndpoint.ts';

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

export const patientsGet = endpoint({
  id: 'patients.get',
  surface: 'api',
  group: 'Patients',
  method: 'GET',
  path: '/v1/patients/{id}',
  auth: 'account',
  limited_secrets: for_reads,
  summary: 'Retrieve a patient',
  agent_tool: true,
  description:
    'Returns the patient from the request that creates it on: `pending` until the EMR has it, then `active`, or `failed` with the reason.',
  params: Type.Object({ id: Type.String({ description: 'The patient_id of its request or event' }) }),
  response: Type.Object({ success, patient: PatientById }),
  errors: ['record_not_found'],
  found_in: { id: 'GET /v1/patients?mrn=LK100001#/patients/0/id' },
  handle: async ({ ctx, account, params, auditPatients }) => {
    const id = parseId(params.id);
    const patient = id && (await findPatientById(ctx.db, account, id));
    if (!patient) throw apiError('record_not_found', { noun: 'Patient', id: params.id }, { field: 'id' });
    auditPatients([patient.mrn]);
    return { success: true, patient };
  },
});

export const patientsUpdate = withDryRun(
  endpoint({
    id: 'patients.update',
    surface: 'api',
    group: 'Patients',
    method: 'PATCH',
    path: '/v1/patients/{id}',
    auth: 'account',
    limited_secrets: for_writes,
    summary: 'Update a patient',
    agent_tool: true,
    params: Type.Object({ id: Type.String({ description: 'The patient’s `id` from GET /v1/patients' }) }),
    body: withReference(PatientChanges, 'changes'),
    response: withReference(
      Type.Object({
        success,
        message: Type.String({ examples: ['Patient update queued. A webhook event follows on completion.'] }),
        job_id: Type.Optional(Type.Integer({ description: 'Present if a job was queued' })),
      }),
    ),
    errors: [
      'operation_not_offered',
      'no_field',
      'fixed_field',
      'edited_copy_exists',
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
      const { reference, ...changes } = body;
      // Before the transaction: it must not wait for the EMR.
      const named = await findNamedDoctors(ctx, account, changes);
      const response = await inTransaction(async (tx) => {
        const id = parseId(params.id);
        const patch = id && { id, changes, named, reference: reference ?? null };
        const result = patch && (await patchPatient(ctx, tx, account, patch));
        if (!result) throw apiError('record_not_found', { noun: 'Patient', id: params.id }, { field: 'id' });
        const { mrn, ...fields } = result;
        auditPatients([mrn]);
        auditSubject({ job_id: fields.job_id });
        return { success: true, ...fields, ...(reference !== undefined && { reference }) };
      });
      ctx.notifications.notify('chartwire_jobs', account.client_id);
      return response;
    },
  }),
);

export const patientsFetch = writeEndpoint(fetchPatients, {
  id: 'patients.fetch',
  group: 'Patients',
  method: 'POST',
  limited_secrets: for_reads,
  path: '/v1/patients/fetch',
  summary: 'Fetch patients live from the EMR',
  agent_tool: 'fetch_patients_from_emr',
  quota: 'live_fetches',
  description:
    'The result, with the patients’ charts, is sent as an event. `search_by` determines which other fields are required; additional ones are ignored. No match is a success with an empty list. `include` can contain `insurances`.',
  response: Type.Object({ success, message: Type.String(), job_id: Type.Integer() }),
  errors: ['operation_not_offered', 'search_not_supported', 'restricted_field', 'unsupported_field'],
  events: ['patient.live_fetch_completed', 'patient.live_fetch_failed'],
});

export const patientsInsurancesList = endpoint({
  id: 'patients.insurances.list',
  surface: 'api',
  group: 'Patient insurance',
  method: 'GET',
  path: '/v1/patients/{patient_mrn}/insurances',
  auth: 'account',
  limited_secrets: for_reads,
  needs: { operation: patientInsurances.operation, label: patientInsurances.labels.plural },
  summary: 'List a patient’s insurances',
  description:
    'Returns the insurances as of the last sync and of your own writes: those in force first, in the order in which they are billed.',
  agent_tool: true,
  params: Type.Object({ patient_mrn: Type.String({ description: 'Medical Record Number of the patient' }) }),
  query: Type.Object({ status: Type.Optional(byStatus.schema) }),
  response: Type.Object({
    success,
    insurances: Type.Array(PatientInsuranceRecord, { description: 'The insurances' }),
    sync: sync_state,
  }),
  errors: ['patient_not_found', 'first_sync_pending'],
  example: { params: { patient_mrn: 'LK100001' } },
  handle: async ({ ctx, account, params: { patient_mrn }, query: { status = byStatus.any }, auditPatients }) => {
    const list = await listInsurances(ctx.db, account, patient_mrn);
    if (!list) {
      const unknown = apiError('patient_not_found', undefined, { field: 'patient_mrn' });
      throw await referenceError(ctx.db, account, ['patients'], unknown);
    }
    auditPatients([patient_mrn, list.mrn]);
    return {
      success: true,
      insurances: list.insurances.filter((each) => status === byStatus.any || each.status === status),
      ...(list.pending && { sync: { state: 'pending' as const } }),
    };
  },
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
