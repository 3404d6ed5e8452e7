import { Type } from 'typebox';
import { nullable } from '../../model/fields.ts';
import { fold, isSameName } from '../../model/fold.ts';
import { LiveAlerts, PatientFetchRequest } from '../../model/liveChart.ts';
import { PatientSource } from '../../model/records/patients.ts';
import { ActivePatientChanges, PatientRequest } from '../../model/requests/patients.ts';
import type { Payer } from './guarantors.ts';
import {
  capitalize,
  chartRead,
  type Declarations,
  type EmrSex,
  type EmrWrite,
  family_name,
  missing_id,
  requestFields,
  type Saved,
  sample_doctor,
  sample_id,
  skip,
  type Written,
} from './operation.ts';

export type PatientOperations = {
  findPatient: (mrn: string) => Promise<PatientSource | undefined>;
  searchPatients: (search: PatientSearch) => Promise<PatientSource[]>;
  /** null: the EMR does not say. */
  getBalances: (patient_ehr_id: string) => Promise<{ patient_balance: number | null; account_balance: number | null }>;
  getAlerts: (patient_ehr_id: string) => Promise<LiveAlerts>;
  createPatient: EmrWrite<NewPatient, Written & { mrn: string }>;
  updatePatient: EmrWrite<PatientUpdate, Saved>;
};

/**
 * Search criteria. All given criteria must match. Names are compared as a whole by `fold` (model/fold.ts), never by
 * prefix: a single match is taken for the patient who was searched for.
 */
export type PatientSearch = {
  dob?: string | undefined;
  first_name?: string | undefined;
  last_name?: string | undefined;
  phone?: string | undefined;
  mrn?: string | undefined;
};

/** A doctor on a chart: the EMR's record, or just a name. */
export type EmrDoctor = { ehr_id: string } | { first_name: string; last_name: string };

/** Demographics of a new or existing patient. Undefined fields are left unchanged; null clears a field. */
export type Demographics = {
  first_name?: string | undefined;
  last_name?: string | undefined;
  middle_name?: string | null | undefined;
  dob?: string | undefined;
  sex?: EmrSex | undefined;
  phone?: string | null | undefined;
  cell_phone?: string | null | undefined;
  email?: string | null | undefined;
  no_email_reason?: string | null | undefined;
  address_street?: string | null | undefined;
  address_line2?: string | null | undefined;
  address_city?: string | null | undefined;
  address_state?: string | null | undefined;
  address_zip?: string | null | undefined;
  language?: string | null | undefined;
  race?: string | null | undefined;
  ethnicity?: string | null | undefined;
  self_pay?: boolean | null | undefined;
  release_of_info?: boolean | null | undefined;
  rx_history_consent?: boolean | null | undefined;
  referring?: EmrDoctor | null | undefined;
  pcp?: EmrDoctor | null | undefined;
  rendering_provider_ehr_id?: string | null | undefined;
  default_facility_ehr_id?: string | null | undefined;
  emergency_contact?:
    | {
        first_name: string | null;
        last_name: string | null;
        relation: string | null;
        phone: string | null;
      }
    | null
    | undefined;
};

export type Coverage = {
  company: { ehr_id: string } | { name: string };
  member_id: string | null;
  priority: 1 | 2 | 3;
};

export type NewPatient = Demographics & {
  first_name: string;
  last_name: string;
  dob: string;
  sex: EmrSex;
  payer: Payer | null;
  coverages: Coverage[];
  check_eligibility: boolean;
  pharmacy_ehr_id: string | null;
};

export type PatientUpdate = Demographics & {
  patient_ehr_id: string;
  /** Whether the EMR keeps the previous address as history. */
  save_previous_address: boolean;
};

const amount = nullable(Type.Number());
const company = { name: 'Certification Insurance' };

export const patient_operations = {
  findPatient: {
    consent: 'patients',
    result: PatientSource,
    sample: async (env) => [(await env.anyPatient()).mrn],
    missing: [missing_id],
  },
  searchPatients: {
    consent: 'patients',
    result: Type.Array(PatientSource),
    fields: requestFields(PatientFetchRequest, {}, ['dob', 'first_name', 'last_name', 'phone', 'mrn', 'include']),
    sample: async (env) => {
      // A server that cannot search by identifier finds patients by name and date of birth.
      if ((await env.open()).emr.findPatient) return [{ mrn: (await env.anyPatient()).mrn }];
      const { ehr_id } = await env.anyPatient();
      const patient = (await env.rows('listPatients')).find((each) => each.ehr_id === ehr_id);
      if (!patient) return skip('no patient is listed');
      const { first_name, last_name, dob } = patient;
      return [{ first_name, last_name, dob: dob ?? undefined }];
    },
    missing: [{ mrn: missing_id }],
  },
  getBalances: chartRead('balances', Type.Object({ patient_balance: amount, account_balance: amount })),
  getAlerts: chartRead('patients', LiveAlerts),
  createPatient: {
    consent: 'patients',
    effect: { action: 'create', resource: 'patient' },
    fields: requestFields(PatientRequest, {
      middle_name: { adds: { middle_name: 'Middle' } },
      phone: { adds: { phone: '518-555-0141' } },
      address_street: { adds: { address_street: '3 Certification Street' } },
      address_city: { adds: { address_city: 'Certification' } },
      address_state: { adds: { address_state: 'VT' } },
      address_zip: { adds: { address_zip: '05401' } },
      cell_phone: { adds: { cell_phone: '518-555-0142' } },
      email: { adds: { email: 'certification@example.org' } },
      no_email_reason: { adds: { no_email_reason: 'Declined' } },
      address_line2: { adds: { address_line2: 'Unit 7' } },
      insurance_name: {
        adds: { self_pay: false, coverages: [{ company, member_id: null, priority: 1 }] },
        includes: ['insurance_sequence', 'secondary_insurance_name'],
        shows: company.name,
      },
      insurance_subscriber_number: {
        adds: { self_pay: false, coverages: [{ company, member_id: 'CERT-4711', priority: 1 }] },
        includes: ['secondary_insurance_subscriber_number'],
        shows: 'CERT-4711',
        // A number comes with a company, which is refused first.
        refused_by: 'api',
      },
      insurance_provider_id: {
        adds: { coverages: [{ company: { ehr_id: sample_id }, member_id: null, priority: 1 }] },
        refused_by: 'api',
        effect_checked_by: 'addPatientInsurance.written',
      },
      check_eligibility: { adds: { check_eligibility: true } },
      responsible_party: {
        adds: { payer: { ...sample_doctor, relationship: 'spouse', sex: null, dob: null, phone: null } },
        includes: [
          'responsible_party_first_name',
          'responsible_party_last_name',
          'responsible_party_sex',
          'responsible_party_dob',
          'responsible_party_phone',
        ],
      },
      referring_provider_id: { adds: { referring: { ehr_id: sample_id } } },
      referring_provider_last_name: {
        adds: { referring: sample_doctor },
        includes: ['referring_provider_first_name'],
      },
      pcp_id: { adds: { pcp: { ehr_id: sample_id } }, refused_by: 'api' },
      pcp_last_name: { adds: { pcp: sample_doctor }, includes: ['pcp_first_name'] },
      referred_to_provider_id: { adds: { rendering_provider_ehr_id: sample_id } },
      emergency_contact_first_name: contact({ first_name: 'Emergency' }),
      emergency_contact_last_name: contact({ last_name: 'Contact' }),
      emergency_contact_relation: contact({ relation: 'Friend' }),
      emergency_contact_phone: contact({ phone: '518-555-0143' }),
      pharmacy_id: { adds: { pharmacy_ehr_id: sample_id } },
      language: { adds: { language: 'English' } },
      race: { adds: { race: 'Other' } },
      ethnicity: { adds: { ethnicity: 'Other' } },
      release_of_info: { adds: { release_of_info: false }, refused_by: 'api' },
      rx_history_consent: { adds: { rx_history_consent: false }, refused_by: 'api' },
      self_pay: { adds: { self_pay: false }, refused_by: 'api' },
      default_facility_id: { adds: { default_facility_ehr_id: sample_id } },
    }),
    sample: {
      input: async (env) => ({
        first_name: capitalize(env.uniqueTag()),
        last_name: family_name,
        dob: '1980-02-29',
        sex: 'female',
        phone: '518-555-0199',
        address_street: '1 Placeholder Street',
        address_city: 'Exampleton',
        address_state: 'NY',
        address_zip: '12207',
        self_pay: true,
        payer: null,
        coverages: [],
        check_eligibility: false,
        pharmacy_ehr_id: null,
      }),
      shown_by: 'searchPatients',
      count: async (emr, { input: { first_name, dob } }) => {
        const matches = (await emr.searchPatients?.({ first_name, last_name: family_name })) ?? [];
        return matches.filter((one) => one.first_name === first_name && one.dob === dob).length;
      },
    },
  },
  updatePatient: {
    consent: 'patients',
    effect: { action: 'update', resource: 'patient' },
    fields: requestFields(ActivePatientChanges, {
      phone: { adds: { phone: '518-555-0144' } },
      cell_phone: { adds: { cell_phone: '518-555-0145' } },
      email: { adds: { email: 'certification@example.org' } },
      address_street: { adds: { address_street: '2 Certification Street' } },
      address_line2: { adds: { address_line2: 'Unit 8' } },
      address_city: { adds: { address_city: 'Certification' } },
      address_state: { adds: { address_state: 'VT' } },
      address_zip: { adds: { address_zip: '05401' } },
      save_previous_address: { adds: { save_previous_address: true }, refused_by: 'api' },
      referring_provider_id: { adds: { referring: { ehr_id: sample_id } } },
      referring_provider_last_name: {
        adds: { referring: sample_doctor },
        includes: ['referring_provider_first_name'],
      },
      pcp_id: { adds: { pcp: { ehr_id: sample_id } }, refused_by: 'api' },
      pcp_last_name: { adds: { pcp: sample_doctor }, includes: ['pcp_first_name'], refused_by: 'api' },
      referred_to_provider_id: { adds: { rendering_provider_ehr_id: sample_id } },
    }),
    sample: {
      input: async (env) => ({
        patient_ehr_id: (await env.testPatient()).ehr_id,
        save_previous_address: false,
        phone: `518-555-01${String(env.uniqueTag().charCodeAt(0) - 97 + 10)}`,
        address_street: `1 ${env.uniqueTag()} Street`,
        address_city: 'Exampleton',
        address_state: 'NY',
        address_zip: '12207',
      }),
      shown_by: 'findPatient',
      count: async (emr, { input: { address_street }, env }) => {
        const patient = await emr.findPatient?.((await env.testPatient()).mrn);
        return patient?.address_street === address_street ? 1 : 0;
      },
    },
  },
} satisfies Declarations<PatientOperations>;

/** Names and numbers in EMRs are shorter. A longer one may not fit into a URL. */
const criterion_max = 500;

/** Whether a search finds nobody, whatever the EMR: a blank criterion would otherwise match every patient. */
export function findsNobody(search: PatientSearch): boolean {
  const criteria = Object.values(search).filter((value) => value !== undefined);
  return criteria.length === 0 || criteria.some((value) => value.trim() === '' || value.length > criterion_max);
}

/**
 * Whether a patient has the names of a search, which may have been interpreted more broadly by the EMR. A first name of
 * several words may be stored as first and middle name.
 */
export function hasSearchedName(
  { first_name, middle_name, last_name }: Pick<PatientSource, 'first_name' | 'middle_name' | 'last_name'>,
  search: Pick<PatientSearch, 'first_name' | 'last_name'>,
): boolean {
  const middle_names = fold(middle_name ?? '').split(' ');
  const given_names = [
    first_name,
    ...middle_names.map((_, n) => [first_name, ...middle_names.slice(0, n + 1)].join(' ')),
  ];
  return (
    (search.first_name === undefined || given_names.some((each) => isSameName(each, search.first_name))) &&
    (search.last_name === undefined || isSameName(last_name, search.last_name))
  );
}

function contact(field: Partial<NonNullable<Demographics['emergency_contact']>>) {
  const nobody = { first_name: null, last_name: null, relation: null, phone: null };
  return { adds: { emergency_contact: { ...nobody, ...field } } };
}
