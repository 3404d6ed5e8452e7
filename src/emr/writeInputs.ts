import { isSameName } from '../model/fold.ts';
import type { SubscriberRelationship } from '../model/requests/insurance.ts';
import type { ResponsibleParty } from '../model/requests/patients.ts';

/** The input of the writes to a patient's chart, common to all connectors. */

export type EmrSex = 'male' | 'female' | 'unknown';

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

export type NewAppointment = {
  patient_ehr_id: string;
  provider_ehr_id: string;
  secondary_provider_ehr_id: string | null;
  location_ehr_id: string;
  visit_type: string;
  /** Local time at the EMR instance with its offset, `2026-03-08T09:30:00-04:00`. The EMR must keep the instant. */
  starts_at: string;
  /** null: the length of the visit type in the EMR, or `default_minutes` if it has none. */
  minutes: number | null;
  default_minutes: number;
  reason: string | null;
  note: string | null;
  new_patient: boolean;
  prevent_double_booking: boolean;
};

/** A subscriber other than the patient. Undefined fields are left unchanged, null clears them. */
export type Subscriber = {
  first_name: string;
  last_name: string;
  street?: string | null | undefined;
  city?: string | null | undefined;
  state?: string | null | undefined;
  zip?: string | null | undefined;
  sex?: EmrSex | null | undefined;
  dob?: string | null | undefined;
  phone?: string | null | undefined;
};

/** Whether a sent name is that of a known person. */
export function isSamePerson(
  sent: { first_name: string; last_name: string },
  known: { first_name: string | null; last_name: string | null },
): boolean {
  const same = (a: string, b: string | null) => a.trim() === (b ?? '').trim() || isSameName(a, b);
  return same(sent.first_name, known.first_name) && same(sent.last_name, known.last_name);
}

/** Undefined fields are left unchanged; null clears a field. */
export type InsuranceFields = {
  group_id?: string | null | undefined;
  plan_begin_date?: string | null | undefined;
  copayment?: number | null | undefined;
  /** null: unknown, and the subscriber is the patient. */
  relationship?: SubscriberRelationship | null | undefined;
  /**
   * A new insurance always gets a new record for its subscriber. An update changes the record of the present subscriber
   * if that person has the same name, and otherwise adds one.
   */
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

/** The operations whose input comes from the fields of a request. */
export type FieldOperation =
  | 'createPatient'
  | 'updatePatient'
  | 'searchPatients'
  | 'createAppointment'
  | 'uploadDocument'
  | 'addPatientInsurance'
  | 'updatePatientInsurance'
  | 'createTelephoneEncounter'
  | 'addTelephoneAction';
/** A field that only some servers of an EMR can store: `uploadDocument.is_high_priority`. */
export type FieldCapability = `${FieldOperation}.${string}`;
