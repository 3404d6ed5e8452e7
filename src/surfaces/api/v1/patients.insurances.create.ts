import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { addPatientInsurance } from '../../../product/writes/insurance/patientInsurance.add.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export default writeEndpoint(addPatientInsurance, {
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
