import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { createPatient } from '../../../product/writes/patients/patient.create.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

const ids = { patient_id: Type.String(), job_id: Type.Integer() };

export default writeEndpoint(createPatient, {
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
