import type { NewAppointment } from '../../../src/emr/operations/appointments.ts';
import type { Payer } from '../../../src/emr/operations/guarantors.ts';
import type { NewInsurance } from '../../../src/emr/operations/insurance.ts';
import type { NewPatient } from '../../../src/emr/operations/patients.ts';

/** Inputs of writes to the small practice of the test server. */

export const empty_patient: NewPatient = {
  first_name: 'Nova',
  last_name: 'Fixtureson',
  dob: '1990-02-03',
  sex: 'female',
  payer: null,
  coverages: [],
  check_eligibility: false,
  pharmacy_ehr_id: null,
};

export const guarantor: Payer = {
  relationship: 'spouse',
  first_name: 'Gale',
  last_name: 'Fixtureson',
  sex: 'male',
  dob: '1971-02-03',
  phone: '518-555-0166',
};

export const booking: NewAppointment = {
  patient_ehr_id: 'pat-1',
  provider_ehr_id: 'prac-1',
  secondary_provider_ehr_id: 'prac-2',
  location_ehr_id: 'loc-1',
  visit_type: 'FOLLOWUP',
  starts_at: '2031-03-03T10:00:00',
  minutes: 20,
  default_minutes: 30,
  reason: 'Synthetic reason',
  note: 'Synthetic note',
  new_patient: false,
  prevent_double_booking: false,
};

export const document = {
  patient_ehr_id: 'pat-1',
  folder: 'Referrals/2026',
  type: 'application/pdf' as const,
  content: Buffer.from('%PDF-1.4 synthetic'),
  file_name: 'synthetic referral.pdf',
  assigned_to_ehr_id: 'staff-1',
  reviewed: true,
  high_priority: true,
  notes: 'Received by fax.',
  template_name: null,
};

export const call = {
  patient_ehr_id: 'pat-1',
  provider_ehr_id: 'prac-1',
  location_ehr_id: 'loc-1',
  assigned_to_ehr_id: 'staff-1',
  high_priority: true,
  reason: 'Synthetic question',
  caller: 'Callera Mockberry',
  message: 'Asks whether the synthetic dose can be taken with food.',
  pharmacy_ehr_id: null as string | null,
  template_name: null as string | null,
};

export const insurance = {
  patient_ehr_id: 'pat-2',
  company_ehr_id: 'payer-2',
  member_id: 'MEM-9',
  group_id: 'GRP-9',
  priority: 2 as const,
  plan_begin_date: '2026-01-01',
  copayment: 12.5,
  relationship: '19' as const,
  subscriber: {
    first_name: 'Parenta',
    last_name: 'Mockberry',
    street: '1 Mock Lane',
    city: 'Exampleton',
    state: 'NY',
    zip: '12207',
    sex: 'female' as const,
    dob: '1970-06-01',
    phone: '518-555-0188',
  },
} satisfies NewInsurance;
