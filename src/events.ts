import { type Static, type TSchema, Type } from 'typebox';
import { nullable } from './model/fields.ts';

type EventKind = {
  summary: string;
  /** Whether the envelope carries `job_id`, and whether it carries `access_token_reference_id`. */
  names_job: boolean;
  names_account: boolean;
  data: TSchema;
};

const encounter = {
  telephone_encounter_id: Type.String(),
  emr_encounter_id: Type.String(),
  patient_mrn: Type.String(),
  provider_id: Type.String(),
  location_id: Type.String(),
  assigned_to_id: Type.String(),
  reason: nullable(Type.String()),
};

const action = {
  action_id: Type.String(),
  emr_appointment_id: Type.String({ examples: ['30001'] }),
  text: Type.String({ examples: ['Called back, left a message.'] }),
};

const document = { document_id: Type.String(), patient_mrn: Type.String(), folder_name: Type.String() };

/** Why something failed, for programs (`code`) and for people. */
const reasons = Type.Array(Type.Object({ code: Type.String(), description: Type.String() }));

/** What a write changed in the EMR, field by field; `note` only where the EMR saved something else than it was sent. */
const audit_trail = Type.Array(
  Type.Object({
    field_label: Type.String(),
    before: nullable(Type.String()),
    after: nullable(Type.String()),
    property: Type.String(),
    note: Type.Optional(Type.String()),
  }),
);

const insurance = {
  patient_insurance_id: Type.String(),
  emr_insurance_id: Type.String(),
  patient_mrn: Type.String(),
  member_id: Type.String(),
  group_id: nullable(Type.String()),
  plan_begin_date: nullable(Type.String()),
  copayment: nullable(Type.Number()),
  audit_trail,
};

const synced = Type.Record(Type.String(), Type.Integer(), {
  examples: [{ locations: 3, providers: 8, patients: 200 }],
});

/** Every event the service sends, with exactly its data fields. The reference page is generated from this table. */
export const events = {
  'telephone_encounter.created': {
    summary: 'The telephone encounter stands in the EMR, with its refill where one was requested.',
    names_job: true,
    names_account: true,
    data: Type.Object({ ...encounter, refill_medication_name: Type.Optional(Type.String()) }),
  },
  'telephone_encounter.created_partial': {
    summary: 'The telephone encounter stands in the EMR, but the refill could not be added to it.',
    names_job: true,
    names_account: true,
    data: Type.Object({
      ...encounter,
      refill_medication_name: Type.String(),
      refill_failure_reason: Type.String(),
    }),
  },
  'telephone_encounter.failed': {
    summary: 'The telephone encounter was not created, or its outcome could not be established.',
    names_job: true,
    names_account: true,
    data: Type.Object({
      telephone_encounter_id: Type.String(),
      patient_mrn: Type.String(),
      refill_medication_name: nullable(Type.String()),
      failure_reason: Type.String(),
    }),
  },
  'telephone_encounter_action.created': {
    summary: 'The action was appended to the action log of the telephone encounter.',
    names_job: true,
    names_account: true,
    data: Type.Object(action),
  },
  'telephone_encounter_action.failed': {
    summary: 'The action was not added to the telephone encounter.',
    names_job: true,
    names_account: true,
    data: Type.Object({
      action_id: action.action_id,
      emr_appointment_id: action.emr_appointment_id,
      failure_reason: Type.String(),
      reasons,
    }),
  },
  'patient.created': {
    summary: 'The patient has a chart in the EMR.',
    names_job: true,
    names_account: true,
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String() }),
  },
  'patient.failed': {
    summary: 'The patient was not created; of a duplicate, the MRN of the patient there is.',
    names_job: true,
    names_account: true,
    data: Type.Object({
      patient_id: Type.String(),
      failure_reason: Type.String(),
      reasons,
      duplicate_patient_mrn: Type.Optional(Type.String()),
    }),
  },
  'patient.updated': {
    summary: 'The changes of a patient stand in the EMR.',
    names_job: true,
    names_account: true,
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String(), audit_trail }),
  },
  'patient.update_failed': {
    summary: 'The changes of a patient were not made; the patient keeps the values there were.',
    names_job: true,
    names_account: true,
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String(), failure_reason: Type.String(), reasons }),
  },
  'patient.insurance.added': {
    summary: 'The insurance stands in the patient’s chart.',
    names_job: true,
    names_account: true,
    data: Type.Object(insurance),
  },
  'patient.insurance.updated': {
    summary: 'The changes of an insurance stand in the patient’s chart.',
    names_job: true,
    names_account: true,
    data: Type.Object(insurance),
  },
  'patient.insurance.failed': {
    summary: 'The insurance was not added or changed.',
    names_job: true,
    names_account: true,
    data: Type.Object({ patient_insurance_id: Type.String(), patient_mrn: Type.String(), error: Type.String() }),
  },
  'patient.live_fetch_completed': {
    summary: 'Patients were read live from the EMR. With exactly one, its fields also stand directly in data.',
    names_job: true,
    names_account: true,
    data: Type.Object(
      {
        success: Type.Boolean(),
        patient_count: Type.Integer(),
        patients: Type.Array(
          Type.Object(
            {},
            {
              additionalProperties: true,
              examples: [
                {
                  ehr_id: '10001',
                  mrn: 'LK100001',
                  first_name: 'Ada',
                  last_name: 'Testpatient',
                  dob: '1981-11-26',
                  last_appointment_date: '2026-11-04',
                  medications: [{ name: 'Lisinopril 10 mg', strength: '10 mg', frequency: 'once daily' }],
                },
              ],
            },
          ),
        ),
      },
      { additionalProperties: true },
    ),
  },
  'patient.live_fetch_failed': {
    summary: 'Patients could not be read from the EMR.',
    names_job: true,
    names_account: true,
    data: Type.Object({ failure_reason: Type.String(), reasons }),
  },
  'appointment.created': {
    summary: 'The appointment stands in the EMR’s schedule.',
    names_job: true,
    names_account: true,
    data: Type.Object({
      appointment_id: Type.String(),
      ehr_appointment_id: Type.String(),
      mrn: Type.String(),
      date_time: Type.String(),
      timezone: Type.String(),
      provider_id: Type.String(),
      provider_name: Type.String(),
      secondary_provider_id: nullable(Type.String()),
    }),
  },
  'appointment.failed': {
    summary: 'The appointment was not booked; on a conflict, what stands in its way.',
    names_job: true,
    names_account: true,
    data: Type.Object({
      appointment_id: Type.String(),
      mrn: Type.String(),
      failure_reason: Type.String({ examples: ['The provider is not free at this time.'] }),
      reasons,
      conflict_type: Type.Optional(Type.String({ description: 'appointment or block', examples: ['appointment'] })),
      conflict_details: Type.Optional(
        Type.String({ examples: ['Harper Samplewell, MD has an appointment from 10:00 to 10:20.'] }),
      ),
    }),
  },
  'document.uploaded': {
    summary: 'The document stands in the patient’s chart.',
    names_job: false,
    names_account: false,
    data: Type.Object(document),
  },
  'document.upload_failed': {
    summary: 'The document was not uploaded.',
    names_job: false,
    names_account: false,
    data: Type.Object({ ...document, failure_reason: Type.String() }),
  },
  'sync.completed': {
    summary: 'A sync asked for with POST /v1/sync has finished: how many records of each kind the EMR holds.',
    names_job: true,
    names_account: true,
    data: Type.Object({ org_id: Type.String(), records: synced }),
  },
  'sync.failed': {
    summary: 'A sync asked for with POST /v1/sync could not be finished.',
    names_job: true,
    names_account: true,
    data: Type.Object({
      org_id: Type.String(),
      failure_reason: Type.String({ examples: ['The EMR could not be reached for an hour.'] }),
      reasons,
    }),
  },
  login_required: {
    summary: 'The link to an EMR account has expired. Run Link in update mode; its waiting jobs then go on.',
    names_job: false,
    names_account: true,
    data: Type.Object({
      access_token_reference_id: Type.String(),
      user_id: Type.String(),
      org_id: Type.String(),
      emr_name: Type.String(),
      reason: Type.String({ examples: ['The EMR asks for a one-time code.'] }),
    }),
  },
} as const satisfies Record<string, EventKind>;

export type EventType = keyof typeof events;
export type EventData<T extends EventType> = Static<(typeof events)[T]['data']>;
/** One event as a pair of its type and exactly its data. */
export type EventOf<T extends EventType = EventType> = { [K in T]: { type: K; data: EventData<K> } }[T];

export const event_types = Object.keys(events) as EventType[];

/** MRNs of the patients that an event's data, a job's input or a request is about, as far as it says. */
export function patientsOf(said: unknown): string[] {
  if (typeof said !== 'object' || said === null) return [];
  const { patient_mrn, mrn, duplicate_patient_mrn, patients } = said as Record<string, unknown>;
  const of_each = Array.isArray(patients) ? patients.map((each) => (each as { mrn?: unknown } | null)?.mrn) : [];
  return [patient_mrn, mrn, duplicate_patient_mrn, ...of_each].filter(
    // What PostgreSQL cannot store is nobody's MRN.
    (value): value is string => typeof value === 'string' && value !== '' && !value.includes('\0'),
  );
}
