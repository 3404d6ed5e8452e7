import { Type } from 'typebox';
import { success } from '../../model/fields.ts';
import { fetchPatients } from '../../writes/patients/patient.fetch.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export default writeEndpoint(fetchPatients, {
  id: 'patients.fetch',
  method: 'POST',
  path: '/v1/patients/fetch',
  summary: 'Read patients and their charts live from the EMR; the result is sent as an event',
  description:
    '`search_by` determines which other fields are required; every further field narrows the search. If no patient matches, the event contains an empty list. `include` accepts `insurances`.',
  response: Type.Object({ success, message: Type.String(), job_id: Type.Integer() }),
  errors: ['operation_not_offered', 'restricted_field'],
  events: ['patient.live_fetch_completed', 'patient.live_fetch_failed'],
});
