import { Type } from 'typebox';
import { success } from '../../model/fields.ts';
import { createTelephoneEncounter } from '../../writes/telephone-encounters/telephoneEncounter.create.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export default writeEndpoint(createTelephoneEncounter, {
  id: 'telephone-encounters.create',
  method: 'POST',
  path: '/v1/telephone-encounters',
  summary: 'Record a telephone call in a patient’s chart, with an optional refill request',
  description:
    'With `refill_medication_name`, the patient’s active medications are searched by full or partial name, ignoring case. If none or several match, nothing is written and the event lists the available medications. A pharmacy sent with a refill is added to the patient’s list if it is not there yet.',
  response: Type.Object({
    success,
    message: Type.String(),
    telephone_encounter_id: Type.String(),
    job_id: Type.Integer(),
  }),
  errors: [
    'restricted_operation',
    'operation_not_offered',
    'provider_not_found',
    'staff_not_found',
    'location_not_found',
    'pharmacy_not_found',
  ],
  events: ['telephone_encounter.created', 'telephone_encounter.created_partial', 'telephone_encounter.failed'],
});
