import { type Static, Type } from 'typebox';
import {
  birthDate,
  choices,
  clearable,
  email,
  flag,
  refersTo,
  text,
  toChanges,
  us_phone,
  us_state,
  us_zip,
} from '../fields.ts';
import { patient_sex } from '../records/patients.ts';

/** Values of `responsible_party`: who pays for the patient. */
const party_descriptions = {
  self: 'The patient',
  spouse: 'The spouse',
  child: 'A child',
  adopted_child: 'An adopted child',
  step_child: 'A stepchild',
  foster_child: 'A foster child',
  ward_of_court: 'A ward of the court',
  employee: 'An employee',
  unknown: 'Unknown',
  handicapped_dependent: 'A dependent with a disability',
  organ_donor: 'An organ donor',
  cadaver_donor: 'A deceased organ donor',
  grandchild: 'A grandchild',
  niece_nephew: 'A niece or nephew',
  injured_plaintiff: 'An injured plaintiff',
  sponsored_dependent: 'A sponsored dependent',
  minor_dependent: 'A dependent of a minor',
  parent: 'A parent',
  grandparent: 'A grandparent',
  life_partner: 'A life partner',
  other: 'Another person',
} as const;
export type ResponsibleParty = keyof typeof party_descriptions;
// Object.keys forgets the names.
export const responsible_parties = Object.keys(party_descriptions) as ResponsibleParty[];

/** Fields of an active patient that can be changed in every EMR. */
const contact = {
  phone: Type.Optional(us_phone),
  cell_phone: Type.Optional(us_phone),
  email: Type.Optional(email),
  address_street: Type.Optional(text()),
  address_line2: Type.Optional(text()),
  address_city: Type.Optional(text()),
  address_state: Type.Optional(us_state),
  address_zip: Type.Optional(us_zip),
};

const doctors = {
  referring_provider_id: Type.Optional(
    text({
      ...refersTo('referring_providers.id'),
      description: 'ID of the referring provider, from GET /v1/referring-providers (id)',
    }),
  ),
  referring_provider_first_name: Type.Optional(
    text({ description: 'First name of the referring provider, together with the last name' }),
  ),
  referring_provider_last_name: Type.Optional(
    text({ description: 'Last name of the referring provider, together with the first name' }),
  ),
  pcp_id: Type.Optional(
    text({
      ...refersTo('referring_providers.id', 'providers.id'),
      description: 'Primary care provider, from GET /v1/referring-providers or /v1/providers (id)',
    }),
  ),
  pcp_first_name: Type.Optional(
    text({ description: 'First name of the primary care provider, together with the last name' }),
  ),
  pcp_last_name: Type.Optional(
    text({ description: 'Last name of the primary care provider, together with the first name' }),
  ),
  referred_to_provider_id: Type.Optional(
    text({
      ...refersTo('providers.ehr_id'),
      description: 'EMR ID of the provider the patient is referred to, from GET /v1/providers (ehr_id)',
    }),
  ),
};

/** Missing required fields are reported in this order. */
export const PatientRequest = Type.Object(
  {
    first_name: text(),
    last_name: text(),
    dob: birthDate('Date of birth'),
    sex: patient_sex,
    middle_name: Type.Optional(text()),
    ...contact,
    no_email_reason: Type.Optional(text({ description: 'Why there is no email address, for EMRs that require one' })),
    insurance_name: Type.Optional(text()),
    insurance_provider_id: Type.Optional(
      text({
        ...refersTo('insurance_providers.id'),
        description: 'ID of the insurance company, from GET /v1/insurance-providers (id)',
      }),
    ),
    insurance_subscriber_number: Type.Optional(text()),
    insurance_sequence: Type.Optional(
      choices(
        { primary: 'Billed first', secondary: 'Billed second', tertiary: 'Billed third' },
        { description: 'Order in which the insurances are billed' },
      ),
    ),
    secondary_insurance_name: Type.Optional(text()),
    secondary_insurance_subscriber_number: Type.Optional(text()),
    check_eligibility: Type.Optional(flag('Whether to request an eligibility check after creation')),
    responsible_party: Type.Optional(
      choices(party_descriptions, { default: 'self', description: 'Who pays for the patient' }),
    ),
    responsible_party_first_name: Type.Optional(text()),
    responsible_party_last_name: Type.Optional(text()),
    responsible_party_sex: Type.Optional(
      choices(
        { male: 'Male', female: 'Female' },
        { description: 'Sex of the person who pays, if it is not the patient' },
      ),
    ),
    responsible_party_dob: Type.Optional(birthDate('Date of birth of the person who pays, if it is not the patient')),
    responsible_party_phone: Type.Optional(text()),
    ...doctors,
    emergency_contact_first_name: Type.Optional(text()),
    emergency_contact_last_name: Type.Optional(text()),
    emergency_contact_relation: Type.Optional(text()),
    emergency_contact_phone: Type.Optional(text()),
    pharmacy_id: Type.Optional(
      text({ ...refersTo('pharmacies.id'), description: 'ID of the pharmacy, from GET /v1/pharmacies (id or ehr_id)' }),
    ),
    language: Type.Optional(
      text({
        ...refersTo('settings.languages.name'),
        description: 'The patient’s language, named as in GET /v1/settings',
      }),
    ),
    race: Type.Optional(
      text({ ...refersTo('settings.races.name'), description: 'The patient’s race, named as in GET /v1/settings' }),
    ),
    ethnicity: Type.Optional(
      text({
        ...refersTo('settings.ethnicities.name'),
        description: 'The patient’s ethnicity, code or name as in GET /v1/settings',
      }),
    ),
    release_of_info: Type.Optional(Type.Boolean({ default: true })),
    rx_history_consent: Type.Optional(Type.Boolean({ default: true })),
    self_pay: Type.Optional(
      Type.Boolean({
        description:
          'Whether the patient pays without insurance. Default: true if no insurance is sent, otherwise false',
      }),
    ),
    default_facility_id: Type.Optional(
      text({
        ...refersTo('locations.ehr_id'),
        description: 'EMR ID of the patient’s usual location, from GET /v1/locations (ehr_id)',
      }),
    ),
  },
  { schema_name: 'PatientCreate', description: 'A patient to create' },
);
export type PatientRequest = Static<typeof PatientRequest>;

const save_previous_address = clearable(
  Type.Boolean({ default: true, description: 'Whether the EMR keeps the current address as history' }),
);

/** Which of the fields can be changed depends on the state of the patient. */
export const PatientChanges = Type.Object(
  { ...toChanges(PatientRequest), save_previous_address },
  { schema_name: 'PatientUpdate', description: 'Changes to a patient; null clears a field' },
);
export type PatientChanges = Static<typeof PatientChanges>;

/** The details of a responsible party other than the patient. */
export const payer_fields = [
  'responsible_party_first_name',
  'responsible_party_last_name',
  'responsible_party_sex',
  'responsible_party_dob',
  'responsible_party_phone',
] as const;

/** What can be changed once the patient exists in the EMR. */
export const ActivePatientChanges = Type.Object({
  ...toChanges(Type.Object({ ...contact, ...doctors })),
  save_previous_address,
});
export const active_fields: ReadonlySet<string> = new Set(Object.keys(ActivePatientChanges.properties));
