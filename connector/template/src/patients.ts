import {
  Compile,
  collect,
  EmrFailure,
  type FieldsOf,
  findsNobody,
  hasSearchedName,
  type InputOf,
  type Operations,
  type PatientSearch,
  type RowOf,
  type Static,
  Type,
  unsupportedField,
} from '@chartwire/connector';
import { readPages } from './lists.js';
import { defineWrite, type ExampleEmrOperation } from './operation.js';
import { path, type Send, unreadable } from './session.js';

type PatientSource = RowOf<'listPatients'>;
type NewPatient = InputOf<Operations['createPatient']>;

const text = Type.String({ minLength: 1 });
const textOrNull = Type.Union([Type.String(), Type.Null()]);
const Patient = Type.Object({
  id: text,
  mrn: text,
  firstName: text,
  middleName: textOrNull,
  lastName: text,
  birthDate: Type.String({ format: 'date' }),
  sex: Type.Enum(['male', 'female', 'unknown']),
  phone: textOrNull,
  email: textOrNull,
  street: textOrNull,
  city: textOrNull,
  state: textOrNull,
  zip: textOrNull,
});

const patients = {
  row: Compile(Patient),
  toSource: (row: Static<typeof Patient>): PatientSource => ({
    ehr_id: row.id,
    mrn: row.mrn,
    first_name: row.firstName,
    middle_name: row.middleName,
    last_name: row.lastName,
    dob: row.birthDate,
    sex: row.sex,
    phone: row.phone,
    cell_phone: null,
    email: row.email,
    address_street: row.street,
    address_line2: null,
    address_city: row.city,
    address_state: row.state,
    address_zip: row.zip,
    insurance_name: null,
    insurance_subscriber_number: null,
  }),
};

async function findPatient(send: Send, mrn: string): Promise<PatientSource | undefined> {
  const matches = await collect(readPages(send, path`/api/patients?mrn=${mrn}`, patients));
  return matches.find((patient) => patient.mrn === mrn);
}

/** The EMR searches by one criterion, and the others are compared here: a patient must match all of them. */
async function searchPatients(send: Send, search: PatientSearch): Promise<PatientSource[]> {
  if (findsNobody(search)) return [];
  const { mrn, dob, phone, first_name, last_name } = search;
  const criteria = { mrn, dob, phone: phone && digits(phone), lastName: last_name, firstName: first_name };
  const [name = '', value = ''] = Object.entries(criteria).find(([, each]) => each) ?? [];
  const matches = await collect(readPages(send, path`/api/patients?${name}=${value}`, patients));
  return matches.filter(
    (patient) =>
      (mrn === undefined || patient.mrn === mrn) &&
      (dob === undefined || patient.dob === dob) &&
      (phone === undefined || digits(patient.phone ?? '') === digits(phone)) &&
      hasSearchedName(patient, search),
  );
}

function digits(phone: string): string {
  return phone.replace(/\D/g, '');
}

/** The fields of a request that this EMR has no place for. The API refuses them by name. */
const unsupported_fields: readonly FieldsOf<'createPatient'>[] = [
  ...(['cell_phone', 'address_line2', 'no_email_reason', 'language', 'race', 'ethnicity', 'release_of_info'] as const),
  ...(['rx_history_consent', 'self_pay', 'default_facility_id', 'pharmacy_id', 'check_eligibility'] as const),
  ...(['insurance_name', 'insurance_provider_id', 'insurance_subscriber_number', 'insurance_sequence'] as const),
  ...(['secondary_insurance_name', 'secondary_insurance_subscriber_number'] as const),
  ...(['responsible_party', 'responsible_party_first_name', 'responsible_party_last_name'] as const),
  ...(['responsible_party_sex', 'responsible_party_dob', 'responsible_party_phone'] as const),
  ...(['referring_provider_id', 'referring_provider_first_name', 'referring_provider_last_name'] as const),
  ...(['pcp_id', 'pcp_first_name', 'pcp_last_name', 'referred_to_provider_id'] as const),
  ...(['emergency_contact_first_name', 'emergency_contact_last_name'] as const),
  ...(['emergency_contact_relation', 'emergency_contact_phone'] as const),
];

/** Refuses them once more here, because a value that is dropped silently would count as written. */
function rejectUnsupported(input: NewPatient): void {
  const { referring, pcp, emergency_contact: contact } = input;
  const values: { [Field in FieldsOf<'createPatient'>]?: unknown } = {
    cell_phone: input.cell_phone,
    address_line2: input.address_line2,
    no_email_reason: input.no_email_reason,
    language: input.language,
    race: input.race,
    ethnicity: input.ethnicity,
    default_facility_id: input.default_facility_ehr_id,
    pharmacy_id: input.pharmacy_ehr_id,
    check_eligibility: input.check_eligibility,
    insurance_name: input.coverages.length > 0,
    responsible_party: input.payer,
    referring_provider_id: referring && 'ehr_id' in referring,
    referring_provider_last_name: referring,
    pcp_id: pcp && 'ehr_id' in pcp,
    pcp_last_name: pcp,
    referred_to_provider_id: input.rendering_provider_ehr_id,
    emergency_contact_first_name: contact?.first_name,
    emergency_contact_last_name: contact?.last_name,
    emergency_contact_relation: contact?.relation,
    emergency_contact_phone: contact?.phone,
  };
  const [field] = Object.entries(values).find(([, value]) => value) ?? [];
  if (field !== undefined) throw unsupportedField(field);
}

const createPatient = defineWrite<Operations['createPatient']>(
  (input) => {
    rejectUnsupported(input);
    return {
      path: '/api/patients',
      body: {
        firstName: input.first_name,
        middleName: input.middle_name,
        lastName: input.last_name,
        birthDate: input.dob,
        sex: input.sex,
        phone: input.phone,
        email: input.email,
        street: input.address_street,
        city: input.address_city,
        state: input.address_state,
        zip: input.address_zip,
      },
    };
  },
  ({ id, mrn }) => {
    // The patient is stored. It is looked up by its reference before anything is sent again.
    if (mrn === undefined) throw new EmrFailure('unknown_outcome', unreadable);
    return { ehr_id: id, mrn };
  },
);

export const patient_operations: readonly ExampleEmrOperation[] = [
  { operation: 'listPatients', open: (send) => () => readPages(send, '/api/patients', patients) },
  { operation: 'findPatient', open: (send) => (mrn) => findPatient(send, mrn) },
  {
    operation: 'searchPatients',
    // A search can also return the insurances of the patients it finds. This EMR has none.
    unsupported_fields: ['include'],
    open: (send) => (search) => searchPatients(send, search),
  },
  { operation: 'createPatient', unsupported_fields, open: createPatient },
];
