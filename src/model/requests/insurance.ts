import { type Static, Type } from 'typebox';
import {
  birthDate,
  choices,
  clearable,
  day,
  refersTo,
  text,
  toChanges,
  unclearable,
  us_state,
  us_zip,
} from '../fields.ts';

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

/** The places in the order of billing. */
export const priorities = { primary: 1, secondary: 2, tertiary: 3 } as const;

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
    sex: Type.Optional(
      choices(
        {
          male: 'Male',
          female: 'Female',
          unknown: 'Unknown',
          M: 'Same as male',
          F: 'Same as female',
          U: 'Same as unknown',
        },
        { description: 'Sex of the subscriber' },
      ),
    ),
    dob: Type.Optional(birthDate('Date of birth of the subscriber')),
    phone: Type.Optional(text()),
  },
  { additionalProperties: false, schema_name: 'Subscriber', description: 'The subscriber of an insurance' },
);

const fields = {
  group_id: Type.Optional(text({ description: 'Group number' })),
  insurance_provider_id: Type.Optional(
    text({
      ...refersTo('insurance_providers.id'),
      description: 'ID of the insurance company, from GET /v1/insurance-providers (id)',
    }),
  ),
  insurance_name: Type.Optional(text({ description: 'Name of the insurance company' })),
  insurance_payer_id: Type.Optional(text({ description: 'Payer ID; only together with insurance_name' })),
  plan_begin_date: Type.Optional(day()),
  copayment: Type.Optional(Type.Number({ minimum: 0, maximum: 999_999_999, description: 'Copayment in dollars' })),
  relationship_to_subscriber: Type.Optional(
    text({
      description:
        'The patient’s relationship to the subscriber, as a code (`01`) or a name (`self`), case-insensitive',
    }),
  ),
  subscriber_demographics: Type.Optional(subscriber_demographics),
};

/** The MRN is in the path. */
export const InsuranceRequest = Type.Object(
  {
    ...path,
    member_id: text({ description: 'Member or policy ID' }),
    ...fields,
    priority: Type.Optional(
      choices(
        { 1: 'Primary', 2: 'Secondary', 3: 'Tertiary' },
        { description: 'Order in which the insurances are billed. Default: the EMR’s default' },
      ),
    ),
  },
  { schema_name: 'PatientInsuranceCreate', description: 'An insurance to add to a patient’s chart' },
);
export type InsuranceRequest = Static<typeof InsuranceRequest>;

/** The MRN and the insurance id are in the path. */
export const InsuranceChanges = Type.Object(
  {
    ...path,
    emr_insurance_id: text({ description: 'EMR ID of the insurance' }),
    member_id: unclearable(text({ description: 'Member or policy ID' })),
    insurance_sequence: unclearable(
      choices(
        { primary: 'Billed first', secondary: 'Billed second', tertiary: 'Billed third' },
        {
          description:
            'New place in the order of billing. The insurance that has it now gets the place of this one, in the same write',
        },
      ),
    ),
    plan_end_date: clearable(day({ description: 'Last day of the coverage; terminates the insurance' })),
    ...toChanges(Type.Object(fields)),
    // An insurance always has a company.
    insurance_provider_id: unclearable(fields.insurance_provider_id),
    insurance_name: unclearable(fields.insurance_name),
    insurance_payer_id: unclearable(fields.insurance_payer_id),
    subscriber_demographics: clearable(
      Type.Object(toChanges(subscriber_demographics), {
        additionalProperties: false,
        schema_name: 'SubscriberUpdate',
        description: 'Changes to the subscriber',
      }),
    ),
  },
  { schema_name: 'PatientInsuranceUpdate', description: 'Changes to an insurance; null clears a field' },
);
export type InsuranceChanges = Static<typeof InsuranceChanges>;
