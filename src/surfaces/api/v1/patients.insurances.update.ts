import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { updatePatientInsurance } from '../../../product/writes/insurance/patientInsurance.update.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export default writeEndpoint(updatePatientInsurance, {
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
