import type { FieldOperation, Subscriber } from '../writeInputs.ts';
import type { Environment } from './environment.ts';
import type { InputOf } from './samples.ts';

export type FieldWrite = Exclude<FieldOperation, 'searchPatients'>;

/** How a field of the interface reaches an operation. */
type FieldSample<Name extends FieldWrite> = {
  add: (input: InputOf<Name>) => InputOf<Name>;
  /** A text of the value, for fields that the EMR stores in a record of their own. */
  shows?: string;
  /**
   * `api`: only the API refuses it, because the service fills it in for EMRs that have it, or because the interface
   * restricts it where the EMR could store it.
   */
  refused_by?: 'api';
  /** Another check covers that it has an effect. */
  effect_checked_by?: string;
};

const doctor = { first_name: 'Certifying', last_name: 'Doctor' };
const subscriber: Subscriber = { first_name: 'Cert', last_name: 'Subscriber', dob: '1971-03-02' };
const nobody = { first_name: null, last_name: null, relation: null, phone: null };
const company = { name: 'Certification Insurance' };
const id = 'certification-0';

/** Adds fields to an input of the same type. */
function withFields<Name extends FieldWrite>(more: Partial<InputOf<Name>>): FieldSample<Name> {
  return { add: (input) => Object.assign({}, input, more) };
}

const contact = (more: object) => withFields<'createPatient'>({ emergency_contact: { ...nobody, ...more } });

export const field_samples: { [Name in FieldWrite]: Readonly<Record<string, FieldSample<Name>>> } = {
  createPatient: {
    middle_name: withFields({ middle_name: 'Middle' }),
    cell_phone: withFields({ cell_phone: '518-555-0142' }),
    email: withFields({ email: 'certification@example.org' }),
    no_email_reason: withFields({ no_email_reason: 'Declined' }),
    address_line2: withFields({ address_line2: 'Unit 7' }),
    insurance_name: {
      ...withFields({ self_pay: false, coverages: [{ company, member_id: null, priority: 1 }] }),
      shows: company.name,
    },
    insurance_subscriber_number: {
      ...withFields({ self_pay: false, coverages: [{ company, member_id: 'CERT-4711', priority: 1 }] }),
      shows: 'CERT-4711',
      // A number comes with a company, which is refused first.
      refused_by: 'api',
    },
    insurance_provider_id: {
      ...withFields({ coverages: [{ company: { ehr_id: id }, member_id: null, priority: 1 }] }),
      refused_by: 'api',
      effect_checked_by: 'addPatientInsurance.written',
    },
    check_eligibility: withFields({ check_eligibility: true }),
    responsible_party: withFields({
      payer: { ...doctor, relationship: 'spouse', sex: null, dob: null, phone: null },
    }),
    referring_provider_id: withFields({ referring: { ehr_id: id } }),
    referring_provider_last_name: withFields({ referring: doctor }),
    pcp_id: { ...withFields({ pcp: { ehr_id: id } }), refused_by: 'api' },
    pcp_last_name: withFields({ pcp: doctor }),
    referred_to_provider_id: withFields({ rendering_provider_ehr_id: id }),
    emergency_contact_first_name: contact({ first_name: 'Emergency' }),
    emergency_contact_last_name: contact({ last_name: 'Contact' }),
    emergency_contact_relation: contact({ relation: 'Friend' }),
    emergency_contact_phone: contact({ phone: '518-555-0143' }),
    pharmacy_id: withFields({ pharmacy_ehr_id: id }),
    language: withFields({ language: 'English' }),
    race: withFields({ race: 'Other' }),
    ethnicity: withFields({ ethnicity: 'Other' }),
    release_of_info: { ...withFields({ release_of_info: false }), refused_by: 'api' },
    rx_history_consent: { ...withFields({ rx_history_consent: false }), refused_by: 'api' },
    self_pay: { ...withFields({ self_pay: false }), refused_by: 'api' },
    default_facility_id: withFields({ default_facility_ehr_id: id }),
  },
  updatePatient: {
    phone: withFields({ phone: '518-555-0144' }),
    cell_phone: withFields({ cell_phone: '518-555-0145' }),
    email: withFields({ email: 'certification@example.org' }),
    address_street: withFields({ address_street: '2 Certification Street' }),
    address_line2: withFields({ address_line2: 'Unit 8' }),
    address_city: withFields({ address_city: 'Certification' }),
    address_state: withFields({ address_state: 'VT' }),
    address_zip: withFields({ address_zip: '05401' }),
    save_previous_address: { ...withFields({ save_previous_address: true }), refused_by: 'api' },
    referring_provider_id: withFields({ referring: { ehr_id: id } }),
    referring_provider_last_name: withFields({ referring: doctor }),
    pcp_id: { ...withFields({ pcp: { ehr_id: id } }), refused_by: 'api' },
    pcp_last_name: { ...withFields({ pcp: doctor }), refused_by: 'api' },
    referred_to_provider_id: withFields({ rendering_provider_ehr_id: id }),
  },
  createAppointment: {
    secondary_provider: withFields({ secondary_provider_ehr_id: id }),
    note: withFields({ note: 'Certification note' }),
    reason: withFields({ reason: 'Certification reason' }),
    duration: withFields({ minutes: 35 }),
    new_patient: withFields({ new_patient: true }),
    prevent_double_booking: {
      ...withFields({ prevent_double_booking: true }),
      effect_checked_by: 'createAppointment.conflict',
    },
  },
  uploadDocument: {
    emr_assigned_to_id: withFields({ assigned_to_ehr_id: id }),
    is_reviewed: withFields({ reviewed: true }),
    notes: withFields({ notes: 'Certification notes' }),
    is_high_priority: withFields({ high_priority: true }),
    template_name: withFields({ template_name: 'Certification template' }),
  },
  addPatientInsurance: {
    group_id: withFields({ group_id: 'CERT-GROUP' }),
    priority: withFields({ priority: 3 }),
    plan_begin_date: withFields({ plan_begin_date: '2025-02-03' }),
    copayment: withFields({ copayment: 12.5 }),
    relationship_to_subscriber: withFields({ relationship: '01' }),
    subscriber_demographics: withFields({ relationship: '02', subscriber }),
  },
  updatePatientInsurance: {
    member_id: withFields({ member_id: 'CERT-4712' }),
    group_id: withFields({ group_id: 'CERT-GROUP' }),
    plan_begin_date: withFields({ plan_begin_date: '2025-02-03' }),
    copayment: withFields({ copayment: 12.5 }),
    relationship_to_subscriber: withFields({ relationship: '01' }),
    subscriber_demographics: withFields({ relationship: '02', subscriber }),
  },
  createTelephoneEncounter: {
    reason: withFields({ reason: 'Certification reason' }),
    caller: { ...withFields({ caller: 'Certification caller' }), shows: 'Certification caller' },
    message: { ...withFields({ message: 'Certification message' }), shows: 'Certification message' },
    pharmacy_ehr_id: withFields({ pharmacy_ehr_id: id }),
    is_high_priority: withFields({ high_priority: true }),
    template_name: withFields({ template_name: 'Certification template' }),
  },
  addTelephoneAction: { is_high_priority: withFields({ high_priority: true }) },
};

/** A field sample, independent of the type of its operation. */
export type AnyFieldSample = Omit<FieldSample<never>, 'add'> & { add: (input: unknown) => unknown };

/** Another staff member than the id above, for writes that must succeed. */
export async function withRealIds(env: Environment, input: unknown): Promise<unknown> {
  if (typeof input !== 'object' || input === null || !('assigned_to_ehr_id' in input)) return input;
  if (input.assigned_to_ehr_id !== id) return input;
  const [staff] = await env.rows('listStaff');
  return staff ? { ...input, assigned_to_ehr_id: staff.ehr_id } : input;
}
