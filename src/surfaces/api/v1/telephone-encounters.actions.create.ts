import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { createTelephoneEncounterAction } from '../../../product/writes/telephone-encounters/telephoneEncounterAction.create.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export default writeEndpoint(createTelephoneEncounterAction, {
  id: 'telephone-encounters.actions.create',
  group: 'Telephone encounters',
  method: 'POST',
  path: '/v1/telephone-encounters/actions',
  summary: 'Add an action to a telephone encounter',
  agent_tool: true,
  description:
    'Appends the text to the encounter’s action log, signed with the name of the linked EMR user, the date, the time and the time zone.',
  response: Type.Object({ success, message: Type.String(), action_id: Type.String(), job_id: Type.Integer() }),
  errors: ['restricted_operation', 'operation_not_offered'],
  events: ['telephone_encounter_action.created', 'telephone_encounter_action.failed'],
});
