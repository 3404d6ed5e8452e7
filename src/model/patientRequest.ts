import { type Static, Type } from 'typebox';
import { changesOf, clearable, email, flag, text } from './fields.ts';
import { us_phone, us_state, us_zip } from './usPlaces.ts';

/** Values of `responsible_party`: who pays for the patient. */
export const responsible_parties = [
  'self',
  'spouse',
  'child',
  'adopted_child',
  'step_child',
  'foster_child',
  'ward_of_court',
  'employee',
  'unknown',
  'handicapped_dependent',
  'organ_donor',
  'cadaver_donor',
  'grandchild',
  'niece_nephew',
  'injured_plaintiff',
  'sponsored_dependent',
  'minor_dependent',
  'parent',
  'grandparent',
  'life_partner',
  'other',
] as const;
export type ResponsibleParty = (typeof responsible_parties)[number];

const date = (description: string) => Type.String({ format: 'date', description });

/** Fields of an active patient that can be changed in every EMR. */
const contact = {
  phone: Type.Optional(us_phone),
  cell_phone: Type.Optional(us_phone),
  email: Type.Optional(email),
  address_street: Type.Optional(text({ description: 'Line 1' })),
  address_line2: Type.Optional(text({ description: 'Apartment, suite, unit' })),
  address_city: Type.Optional(text()),
  address_state: Type.Optional(us_state),
  address_zip: Type.Optional(us_zip),
};

const doctors = {
  referring_provider_id: Type.Optional(text({ description: 'From GET /v1/referring-providers (id)' })),
  referring_provider_first_name: Type.Optional(text({ description: 'Together with the last name' })),
  referring_provider_last_name: Type.Optional(text({ description: 'Together with the first name' })),
  pcp_id: Type.Optional(
    text({ description: 'Primary care provider, from GET /v1/referring-providers or /v1/providers (id)' }),
  ),
  pcp_first_name: Type.Optional(text({ description: 'Together with the last name' })),
  pcp_last_name: Type.Optional(text({ description: 'Together with the first name' })),
  referred_to_provider_id: Type.Optional(
    text({ description: 'EMR ID of a provider, from GET /v1/providers (ehr_id)' }),
  ),
};

/** Missing required fields are reported in this order. */
export const PatientRequest = Type.Object({
  first_name: text(),
  last_name: text(),
  dob: date('YYYY-MM-DD'),
  sex: Type.Enum(['male', 'female', 'unknown']),
  middle_name: Type.Optional(text()),
  ...contact,
  no_email_reason: Type.Optional(text({ description: 'Why there is no email address, for EMRs that require one' })),
  insurance_name: Type.Optional(text()),
  insurance_provider_id: Type.Optional(text({ description: 'From GET /v1/insurance-providers (id)' })),
  insurance_subscriber_number: Type.Optional(text()),
  insurance_sequence: Type.Optional(Type.Enum(['primary', 'secondary', 'tertiary'])),
  secondary_insurance_name: Type.Optional(text()),
  secondary_insurance_subscriber_number: Type.Optional(text()),
  check_eligibility: Type.Optional(flag('Whether to request an eligibility check after creation')),
  responsible_party: Type.Optional(Type.Enum([...responsible_parties], { default: 'self' })),
  responsible_party_first_name: Type.Optional(text()),
  responsible_party_last_name: Type.Optional(text()),
  responsible_party_sex: Type.Optional(Type.Enum(['male', 'female'])),
  responsible_party_dob: Type.Optional(date('YYYY-MM-DD')),
  responsible_party_phone: Type.Optional(text()),
  ...doctors,
  emergency_contact_first_name: Type.Optional(text()),
  emergency_contact_last_name: Type.Optional(text()),
  emergency_contact_relation: Type.Optional(text()),
  emergency_contact_phone: Type.Optional(text()),
  pharmacy_id: Type.Optional(text({ description: 'From GET /v1/pharmacies (id or ehr_id)' })),
  language: Type.Optional(text({ description: 'Name of a language in GET /v1/settings' })),
  race: Type.Optional(text({ description: 'Name of a race in GET /v1/settings' })),
  ethnicity: Type.Optional(text({ description: 'Code or name of an ethnicity in GET /v1/settings' })),
  release_of_info: Type.Optional(Type.Boolean({ default: true })),
  rx_history_consent: Type.Optional(Type.Boolean({ default: true })),
  self_pay: Type.Optional(Type.Boolean({ description: 'Default: true if no insurance is sent, otherwise false' })),
  default_facility_id: Type.Optional(text({ description: 'EMR ID of a location, from GET /v1/locations (ehr_id)' })),
});
export type PatientRequest = Static<typeof PatientRequest>;

/** Which of the fields can be changed depends on the state of the patient. */
export const PatientChanges = Type.Object({
  ...changesOf(PatientRequest),
  save_previous_address: clearable(
    Type.Boolean({ default: true, description: 'Whether the EMR keeps the current address as history' }),
  ),
});
export type PatientChanges = Static<typeof PatientChanges>;

/** Fields that can be changed once the patient exists in the EMR. */
export const active_fields: ReadonlySet<string> = new Set([
  ...Object.keys(contact),
  ...Object.keys(doctors),
  'save_previous_address',
]);
