import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { createTelephoneEncounter } from '../../../product/writes/telephone-encounters/telephoneEncounter.create.ts';
import { createTelephoneEncounterAction } from '../../../product/writes/telephone-encounters/telephoneEncounterAction.create.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export const telephoneEncountersCreate = writeEndpoint(createTelephoneEncounter, {
  id: 'telephone-encounters.create',
  group: 'Telephone encounters',
  method: 'POST',
  path: '/v1/telephone-encounters',
  summary: 'Create a telephone encounter',
  agent_tool: true,
  description:
    'Records a call in a patient’s chart. With `refill_medication_name` it also requests a refill of the active medication whose name contains that text, ignoring case. If no medication or more than one matches, nothing is saved and the event lists the active medications. A pharmacy sent with a refill is added to the patient’s pharmacies.',
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
    'first_sync_pending',
  ],
  events: ['telephone_encounter.created', 'telephone_encounter.created_partial', 'telephone_encounter.failed'],
});

export const telephoneEncountersActionsCreate = writeEndpoint(createTelephoneEncounterAction, {
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
