import { type Static, Type } from 'typebox';
import { flag, refersTo, text } from '../fields.ts';

/** Missing required fields are reported in this order. */
export const TelephoneEncounterRequest = Type.Object(
  {
    patient_mrn: text({ description: 'Medical Record Number of the patient' }),
    provider_id: text({
      ...refersTo('providers.ehr_id'),
      description: "The provider's EMR ID, from GET /v1/providers (ehr_id)",
    }),
    location_id: text({
      ...refersTo('locations.ehr_id'),
      description: "The location's EMR ID, from GET /v1/locations (ehr_id)",
    }),
    assigned_to_id: text({
      ...refersTo('staff.ehr_id'),
      description: 'EMR ID of the staff member, from GET /v1/staff (ehr_id)',
    }),
    reason: Type.Optional(
      text({
        maxLength: 50,
        messages: { maxLength: 'Reason exceeds maximum length of 50 characters' },
        description: 'Reason for the call',
        examples: ['Medication question'],
      }),
    ),
    refill_medication_name: Type.Optional(
      text({ minLength: 2, maxLength: 50, description: 'Name, or part of the name, of an active medication' }),
    ),
    pharmacy_ehr_id: Type.Optional(
      text({ ...refersTo('pharmacies.ehr_id'), description: 'EMR ID of a pharmacy, from GET /v1/pharmacies (ehr_id)' }),
    ),
    caller: Type.Optional(text({ maxLength: 100, description: 'Name of the caller', examples: ['Ada Testpatient'] })),
    message: Type.Optional(
      text({
        description: "The caller's message",
        examples: ['Asks whether the evening dose can be taken with food.'],
      }),
    ),
    is_high_priority: Type.Optional(flag('Whether the encounter is marked as high priority')),
    template_name: Type.Optional(text({ description: 'Template used for the document upload form' })),
  },
  { schema_name: 'TelephoneEncounterCreate', description: 'A telephone call to record in a patient’s chart' },
);
export type TelephoneEncounterRequest = Static<typeof TelephoneEncounterRequest>;

export const TelephoneEncounterActionRequest = Type.Object(
  {
    emr_appointment_id: text({
      maxLength: 200,
      description: 'EMR ID of the telephone encounter (emr_encounter_id of its event)',
      examples: ['30001'],
    }),
    text: text({ description: 'What was done', examples: ['Called back, left a message.'] }),
    is_high_priority: Type.Optional(flag('Whether the action is marked as high priority')),
  },
  { schema_name: 'TelephoneEncounterActionCreate', description: 'An action to add to a telephone encounter' },
);
export type TelephoneEncounterActionRequest = Static<typeof TelephoneEncounterActionRequest>;
