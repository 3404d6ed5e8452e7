import type { SubscriberRelationship } from '../model/insuranceRequest.ts';
import type { ResponsibleParty } from '../model/patientRequest.ts';

/** The input of patient and insurance writes, common to all connectors. */

export type EmrSex = 'male' | 'female' | 'unknown';

/** A doctor on a chart: the EMR's record, or just a name. */
export type EmrDoctor = { ehr_id: string } | { first_name: string; last_name: string };

/** Demographics of a new or existing patient. Undefined fields are left unchanged. */
export type Demographics = {
  first_name?: string | undefined;
  last_name?: string | undefined;
  middle_name?: string | undefined;
  dob?: string | undefined;
  sex?: EmrSex | undefined;
  phone?: string | undefined;
  cell_phone?: string | undefined;
  email?: string | undefined;
  no_email_reason?: string | undefined;
  address_street?: string | undefined;
  address_line2?: string | undefined;
  address_city?: string | undefined;
  address_state?: string | undefined;
  address_zip?: string | undefined;
  language?: string | undefined;
  race?: string | undefined;
  ethnicity?: string | undefined;
  self_pay?: boolean | undefined;
  release_of_info?: boolean | undefined;
  rx_history_consent?: boolean | undefined;
  referring?: EmrDoctor | undefined;
  pcp?: EmrDoctor | undefined;
  rendering_provider_ehr_id?: string | undefined;
  default_facility_ehr_id?: string | undefined;
  emergency_contact?:
    | {
        first_name: string | null;
        last_name: string | null;
        relation: string | null;
        phone: string | null;
      }
    | undefined;
};

/** A responsible party other than the patient. */
export type Payer = {
  relationship: ResponsibleParty;
  first_name: string;
  last_name: string;
  sex: EmrSex | null;
  dob: string | null;
  phone: string | null;
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

/** A subscriber other than the patient. */
export type Subscriber = {
  first_name: string;
  last_name: string;
  street: string | null;
  city: string | null;
  state: string | null;
  zip: string | null;
  sex: EmrSex | null;
  dob: string | null;
  phone: string | null;
};

export type InsuranceFields = {
  group_id?: string | undefined;
  plan_begin_date?: string | undefined;
  copayment?: number | undefined;
  relationship?: SubscriberRelationship | undefined;
  subscriber?: Subscriber | undefined;
};
export type NewInsurance = InsuranceFields & {
  patient_ehr_id: string;
  company_ehr_id: string;
  member_id: string;
  priority?: 1 | 2 | 3 | undefined;
  /** An existing guarantor of the patient. */
  guarantor_ehr_id?: string | undefined;
};
export type InsuranceUpdate = InsuranceFields & {
  insurance_ehr_id: string;
  company_ehr_id?: string | undefined;
  member_id?: string | undefined;
  priority?: 1 | 2 | 3 | undefined;
  /** An existing guarantor of the patient. null: the patient. */
  guarantor_ehr_id?: string | null | undefined;
};

/** One field of a write. `property` is its name in the interface, `after` the saved value. */
export type SavedField = {
  field_label: string;
  before: string | null;
  after: string | null;
  property: string;
  /** Set if the EMR saved a different value than was sent: the sent value and the EMR's explanation. */
  corrected?: { sent: string | null; note: string };
};

export type Saved = { ehr_id: string; changes: SavedField[] };
