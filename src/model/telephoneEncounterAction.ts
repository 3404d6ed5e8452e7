import { type Static, Type } from 'typebox';
import { flag, text } from './fields.ts';

export const TelephoneEncounterActionRequest = Type.Object({
  emr_appointment_id: text({
    description: 'EMR id of the telephone encounter (emr_encounter_id of its event)',
    examples: ['30001'],
  }),
  text: text({ description: 'What was done', examples: ['Called back, left a message.'] }),
  is_high_priority: Type.Optional(flag('Whether the action is marked as high priority')),
});
export type TelephoneEncounterActionRequest = Static<typeof TelephoneEncounterActionRequest>;
