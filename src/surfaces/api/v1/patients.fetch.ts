import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { fetchPatients } from '../../../product/writes/patients/patient.fetch.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export default writeEndpoint(fetchPatients, {
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
