import { Type } from 'typebox';
import { success } from '../../model/fields.ts';
import { fetchPatients } from '../../writes/patient.fetch.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export default writeEndpoint(fetchPatients, {
  id: 'patients.fetch',
  group: 'Patients',
  method: 'POST',
  path: '/v1/patients/fetch',
  summary: 'Read patients live from the EMR, with their charts; the result arrives as an event',
  description:
    '`search_by` says which of the other fields must be given; every further one narrows the search. Finding nobody is a success with an empty list. `include` may name `insurances`.',
  response: Type.Object({ success, message: Type.String(), job_id: Type.Integer() }),
  errors: ['operation_not_offered', 'restricted_field'],
  events: ['patient.live_fetch_completed', 'patient.live_fetch_failed'],
});
