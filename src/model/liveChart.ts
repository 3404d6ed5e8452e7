import { type Static, Type } from 'typebox';
import { birthDate, choices, nullable, text, us_phone } from './fields.ts';

const string = Type.String();
const optional = nullable(string);

export const LiveMedication = Type.Object({
  name: string,
  strength: optional,
  frequency: optional,
  start_date: nullable(Type.String({ description: 'MM/DD/YYYY' })),
  refills: optional,
  notes: optional,
});

export const LivePharmacy = Type.Object({
  pharmacy_id: string,
  is_primary: Type.Enum(['0', '1']),
  name: string,
  address: optional,
  city: optional,
  state: optional,
  zip: optional,
  phone: optional,
});
export type LivePharmacy = Static<typeof LivePharmacy>;

const call = {
  caller: optional,
  message: optional,
  actions: Type.Array(Type.Object({ at: string, by: string, text: string })),
  notes: optional,
  assigned_to: optional,
  answered_by: optional,
  priority: optional,
  has_attachment: Type.Enum(['true', 'false']),
};

/** Encounters with visit type TEL also have the fields of a call. */
export const LiveEncounter = Type.Object({
  id: string,
  date: nullable(Type.String({ format: 'date' })),
  start_time: nullable(Type.String({ description: 'HH:MM' })),
  visit_type: string,
  status: optional,
  provider_ehr_id: optional,
  provider_first_name: optional,
  provider_last_name: optional,
  reason: optional,
  facility_name: optional,
  facility_id: optional,
  locked: Type.Enum(['true', 'false']),
  ...Type.Partial(Type.Object(call)).properties,
});
export type LiveEncounter = Static<typeof LiveEncounter>;

export const LiveGuarantor = Type.Object({
  id: string,
  name: string,
  dob: optional,
  relationship: Type.Enum(['self', 'spouse', 'child', 'other']),
  is_guarantor_patient: Type.Boolean(),
});
export type LiveGuarantor = Static<typeof LiveGuarantor>;

export const LiveAlerts = Type.Object({
  billing_alert: Type.Boolean(),
  billing_notes: optional,
  global_alerts: Type.Array(
    Type.Object({ name: string, alert_type: optional, notes: optional, priority: optional, expiry_date: optional }),
  ),
});
export type LiveAlerts = Static<typeof LiveAlerts>;

export const LiveInsurance = Type.Object({
  emr_insurance_id: string,
  priority: Type.Integer(),
  insurance_ehr_id: optional,
  insurance_name: string,
  insurance_subscriber_number: optional,
  group_id: optional,
  plan_begin_date: optional,
  copayment: optional,
  relationship_to_subscriber: optional,
  guarantor_id: optional,
  is_guarantor_patient: Type.Boolean(),
});
export type LiveInsurance = Static<typeof LiveInsurance>;

export const LiveTask = Type.Object({
  emr_task_id: string,
  subject: optional,
  description: optional,
  status: optional,
  assignee_user_id: optional,
  assignee_name: optional,
  phone_call_type_id: optional,
  phone_call_type: optional,
  notify_list: Type.Array(string),
  created_at: optional,
  notes: Type.Array(Type.Object({ at: optional, by: optional, text: string })),
});
export type LiveTask = Static<typeof LiveTask>;

/** Only the criteria of `search_by` are used. */
export const PatientFetchRequest = Type.Object(
  {
    search_by: choices(
      {
        dob: 'By date of birth: `dob`',
        name: 'By name: `first_name` and `last_name`, compared as a whole',
        phone: 'By phone number: `phone`',
        mrn: 'By Medical Record Number: `mrn`',
      },
      { description: 'What to search by', examples: ['mrn'] },
    ),
    dob: Type.Optional(birthDate('Date of birth to search for')),
    first_name: Type.Optional(text()),
    last_name: Type.Optional(text()),
    phone: Type.Optional(us_phone),
    mrn: Type.Optional(text({ examples: ['LK100001'] })),
    include: Type.Optional(
      Type.Union([text(), Type.Array(text(), { maxItems: 10 })], {
        messages: { anyOf: 'include must be a comma-separated string or an array of strings' },
        description: 'What to return in addition: `insurances`, `tasks`',
        examples: ['insurances'],
      }),
    ),
  },
  { schema_name: 'PatientFetch', description: 'A search for patients in the EMR' },
);
export type PatientFetchRequest = Static<typeof PatientFetchRequest>;
