import { type Static, Type } from 'typebox';
import { text } from './fields.ts';
import { us_state, us_zip } from './usPlaces.ts';

/** The patient's relationship to the subscriber: insurers' codes and their names. */
export const subscriber_relationships = {
  '01': 'self',
  '02': 'spouse',
  '32': 'mother',
  '33': 'father',
  '17': 'step parent',
  '20': 'employee',
  '53': 'life partner',
  '25': 'other',
  '19': 'child',
} as const;
export type SubscriberRelationship = keyof typeof subscriber_relationships;

const path = {
  patient_mrn: text({ description: 'Medical Record Number of the patient' }),
};

const subscriber_demographics = Type.Object(
  {
    first_name: Type.Optional(text()),
    last_name: Type.Optional(text()),
    street_line_1: Type.Optional(text()),
    city: Type.Optional(text()),
    state: Type.Optional(us_state),
    zip: Type.Optional(us_zip),
    sex: Type.Optional(Type.Enum(['male', 'female', 'unknown'])),
    dob: Type.Optional(Type.String({ format: 'date', description: 'YYYY-MM-DD' })),
    phone: Type.Optional(text()),
  },
  { additionalProperties: false },
);

const fields = {
  group_id: Type.Optional(text({ description: 'Group number' })),
  insurance_provider_id: Type.Optional(text({ description: 'From GET /v1/insurance-providers (id)' })),
  insurance_name: Type.Optional(text({ description: 'Name of the insurance company' })),
  insurance_payer_id: Type.Optional(text({ description: 'Together with insurance_name' })),
  plan_begin_date: Type.Optional(Type.String({ format: 'date', description: 'YYYY-MM-DD' })),
  copayment: Type.Optional(Type.Number({ minimum: 0, maximum: 999_999_999, description: 'Dollars' })),
  relationship_to_subscriber: Type.Optional(text({ description: 'A code (01) or a name (self), in any case' })),
  subscriber_demographics: Type.Optional(subscriber_demographics),
};

/** The MRN is in the path. */
export const InsuranceRequest = Type.Object({
  ...path,
  member_id: text({ description: 'Member or policy id' }),
  ...fields,
  priority: Type.Optional(
    Type.Enum(['1', '2', '3'], { description: '1 primary, 2 secondary, 3 tertiary. Default: the EMR’s default' }),
  ),
});
export type InsuranceRequest = Static<typeof InsuranceRequest>;

/** The MRN and the insurance id are in the path. */
export const InsuranceChanges = Type.Object({
  ...path,
  emr_insurance_id: text({ description: 'Id of the insurance in the EMR' }),
  member_id: Type.Optional(text({ minLength: 1, description: 'Member or policy id' })),
  ...fields,
});
export type InsuranceChanges = Static<typeof InsuranceChanges>;
