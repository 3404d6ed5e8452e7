import { type Static, type TSchema, Type } from 'typebox';
import { failure_code } from '../catalog/failures.ts';
import { nullable } from './fields.ts';

export const encounter = {
  telephone_encounter_id: Type.String(),
  emr_encounter_id: Type.String(),
  patient_mrn: Type.String(),
  provider_id: Type.String(),
  location_id: Type.String(),
  assigned_to_id: Type.String(),
  reason: nullable(Type.String({ description: 'Reason for the call' })),
};

export const action = {
  action_id: Type.String(),
  emr_appointment_id: Type.String({ description: 'The EMR’s ID of the telephone encounter', examples: ['30001'] }),
  text: Type.String({ description: 'What was done', examples: ['Called back, left a message.'] }),
};

export const document = { document_id: Type.String(), patient_mrn: Type.String(), folder_name: Type.String() };

/** Why something failed: `code` for programs, `description` for people. */
export const reasons = Type.Array(
  Type.Object(
    { code: failure_code, description: Type.String({ description: 'Human-readable reason' }) },
    { schema_name: 'FailureReason', description: 'A reason for a failure' },
  ),
);

/** What a write changed in the EMR, field by field. `note` is present only if the EMR saved a different value. */
export const audit_trail = Type.Array(
  Type.Object(
    {
      field_label: Type.String({ description: 'The field as the EMR labels it' }),
      before: nullable(Type.String({ description: 'The value before the write; null if there was none' })),
      after: nullable(Type.String({ description: 'The value after the write; null if there is none' })),
      property: Type.String({ description: 'The field’s name in the request' }),
      note: Type.Optional(Type.String({ description: 'Present only if the EMR saved a different value' })),
    },
    { schema_name: 'FieldChange', description: 'A field that a write changed in the EMR' },
  ),
);

export const patient_insurance = Type.Object(
  {
    patient_insurance_id: Type.String(),
    emr_insurance_id: Type.String(),
    patient_mrn: Type.String(),
    member_id: Type.String(),
    group_id: nullable(Type.String()),
    plan_begin_date: nullable(Type.String()),
    copayment: nullable(Type.Number()),
    audit_trail,
  },
  { schema_name: 'PatientInsurance', description: 'An insurance in a patient’s chart' },
);

type EventKind = {
  summary: string;
  /** Whether the envelope has `job_id` and `access_token_reference_id`. */
  has_job_id: boolean;
  has_account_reference: boolean;
  /** How the sandbox makes it happen. */
  trigger: EventTrigger;
  data: TSchema;
};

/** A request, and what goes wrong with it: a fault of the EMR, or the account is unlinked while the job waits. */
export type EventTrigger = {
  request: TriggerRequest;
  fault?: { operation: string; kind: string };
  unlinks_account?: true;
};

/** The requests of src/surfaces/sandbox/triggers.ts. */
export type TriggerRequest =
  | 'telephone_encounter'
  | 'telephone_encounter_with_refill'
  | 'telephone_encounter_action'
  | 'patient'
  | 'duplicate_patient'
  | 'patient_update'
  | 'insurance'
  | 'insurance_update'
  | 'live_fetch'
  | 'appointment'
  | 'blocked_appointment'
  | 'document'
  | 'sync'
  | 'read_after_expiry';

/** The EMR refuses this operation once. */
function refusal(operation: string) {
  return { operation, kind: 'refuse' };
}

const synced = Type.Record(Type.String(), Type.Integer(), {
  description: 'Number of records of each kind',
  examples: [{ locations: 3, providers: 8, patients: 200 }],
});

/** The event catalogue, with exactly the data fields of each. `docs/reference/events.md` is generated from it. */
export const events = {
  'telephone_encounter.created': {
    summary: 'The telephone encounter was created in the EMR, including the refill if one was requested.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter' },
    data: Type.Object(
      { ...encounter, refill_medication_name: Type.Optional(Type.String()) },
      { schema_name: 'TelephoneEncounter', description: 'A telephone encounter in the EMR' },
    ),
  },
  'telephone_encounter.created_partial': {
    summary: 'The telephone encounter was created in the EMR, but the refill could not be added.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter_with_refill', fault: { operation: 'add_refill', kind: 'refill_fails' } },
    data: Type.Object({
      ...encounter,
      refill_medication_name: Type.String(),
      refill_failure_reason: Type.String(),
    }),
  },
  'telephone_encounter.failed': {
    summary: 'The telephone encounter was not created, or its outcome is unknown.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter', fault: refusal('create_telephone_encounter') },
    data: Type.Object({
      telephone_encounter_id: Type.String(),
      patient_mrn: Type.String(),
      refill_medication_name: nullable(Type.String()),
      failure_reason: Type.String(),
    }),
  },
  'telephone_encounter_action.created': {
    summary: 'The action was added to the telephone encounter’s action log.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter_action' },
    data: Type.Object(action, {
      schema_name: 'TelephoneEncounterAction',
      description: 'An action in the log of a telephone encounter',
    }),
  },
  'telephone_encounter_action.failed': {
    summary: 'The action was not added to the telephone encounter.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'telephone_encounter_action', fault: refusal('add_telephone_action') },
    data: Type.Object({
      action_id: action.action_id,
      emr_appointment_id: action.emr_appointment_id,
      failure_reason: Type.String(),
      reasons,
    }),
  },
  'patient.created': {
    summary: 'The patient was created in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'patient' },
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String() }),
  },
  'patient.failed': {
    summary: 'The patient was not created. For a duplicate, the event includes the MRN of the existing patient.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'duplicate_patient' },
    data: Type.Object({
      patient_id: Type.String(),
      failure_reason: Type.String(),
      reasons,
      duplicate_patient_mrn: Type.Optional(Type.String()),
    }),
  },
  'patient.updated': {
    summary: 'The patient was updated in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'patient_update' },
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String(), audit_trail }),
  },
  'patient.update_failed': {
    summary: 'The patient was not updated and keeps the previous values.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'patient_update', fault: refusal('update_patient') },
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String(), failure_reason: Type.String(), reasons }),
  },
  'patient.insurance.added': {
    summary: 'The insurance was added to the patient’s chart.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'insurance' },
    data: patient_insurance,
  },
  'patient.insurance.updated': {
    summary: 'The insurance was updated in the patient’s chart.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'insurance_update' },
    data: patient_insurance,
  },
  'patient.insurance.failed': {
    summary: 'The insurance was not added or updated.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'insurance', fault: refusal('add_patient_insurance') },
    data: Type.Object({
      patient_insurance_id: Type.String(),
      patient_mrn: Type.String(),
      error: Type.String({ description: 'Human-readable reason for the failure' }),
    }),
  },
  'patient.live_fetch_completed': {
    summary: 'The live fetch finished. If exactly one patient was found, its fields are also placed directly in data.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'live_fetch' },
    data: Type.Object(
      {
        success: Type.Boolean({ description: 'Always true' }),
        patient_count: Type.Integer({ description: 'Number of patients found' }),
        patients: Type.Array(
          Type.Object(
            {},
            {
              schema_name: 'LivePatient',
              description: 'A patient’s chart as the EMR returned it',
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
          { description: 'The patients found' },
        ),
      },
      { additionalProperties: true },
    ),
  },
  'patient.live_fetch_failed': {
    summary: 'The live fetch failed.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'live_fetch', unlinks_account: true },
    data: Type.Object({ failure_reason: Type.String(), reasons }),
  },
  'appointment.created': {
    summary: 'The appointment was booked in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'appointment' },
    data: Type.Object({
      appointment_id: Type.String(),
      ehr_appointment_id: Type.String(),
      mrn: Type.String(),
      date_time: Type.String({ description: 'Start of the appointment, with the offset of the EMR instance' }),
      timezone: Type.String(),
      provider_id: Type.String(),
      provider_name: Type.String(),
      secondary_provider_id: nullable(Type.String()),
    }),
  },
  'appointment.failed': {
    summary:
      'The appointment was not booked. For a conflict, the event describes the conflicting appointment or block.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'blocked_appointment' },
    data: Type.Object({
      appointment_id: Type.String(),
      mrn: Type.String(),
      failure_reason: Type.String({ examples: ['The provider is not free at this time.'] }),
      reasons,
      conflict_type: Type.Optional(
        Type.String({
          description: 'What the provider has at this time: `appointment` or `block`',
          examples: ['appointment'],
        }),
      ),
      conflict_details: Type.Optional(
        Type.String({
          description: 'Description of the appointment or block',
          examples: ['Harper Samplewell, MD has an appointment from 10:00 to 10:20.'],
        }),
      ),
    }),
  },
  'document.uploaded': {
    summary: 'The document was uploaded to the patient’s chart.',
    has_job_id: false,
    has_account_reference: false,
    trigger: { request: 'document' },
    data: Type.Object(document),
  },
  'document.upload_failed': {
    summary: 'The document was not uploaded.',
    has_job_id: false,
    has_account_reference: false,
    trigger: { request: 'document', fault: refusal('upload_document') },
    data: Type.Object({ ...document, failure_reason: Type.String() }),
  },
  'sync.completed': {
    summary: 'A sync started with POST /v1/sync finished. The event includes the number of records of each kind.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'sync' },
    data: Type.Object({ org_id: Type.String(), records: synced }),
  },
  'sync.failed': {
    summary: 'A sync started with POST /v1/sync failed.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'sync', unlinks_account: true },
    data: Type.Object({
      org_id: Type.String(),
      failure_reason: Type.String({ examples: ['The EMR could not be reached for an hour.'] }),
      reasons,
    }),
  },
  login_required: {
    summary: 'The link to an EMR account has expired. Run Link in update mode; waiting jobs then resume.',
    has_job_id: false,
    has_account_reference: true,
    trigger: { request: 'read_after_expiry' },
    data: Type.Object({
      access_token_reference_id: Type.String(),
      user_id: Type.String(),
      org_id: Type.String(),
      emr_name: Type.String(),
      reason: Type.String({
        description: 'Why the link has expired',
        examples: ['The EMR requires a new one-time code.'],
      }),
    }),
  },
} as const satisfies Record<string, EventKind>;

export type EventType = keyof typeof events;
export type EventData<T extends EventType> = Static<(typeof events)[T]['data']>;
/** An event type paired with its data. */
export type EventOf<T extends EventType = EventType> = { [K in T]: { type: K; data: EventData<K> } }[T];

export const event_types = Object.keys(events) as EventType[];

/** The MRNs found in an event's data, a job's input or a request. */
export function collectMrns(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { patient_mrn, mrn, duplicate_patient_mrn, patients } = value as Record<string, unknown>;
  const from_patients = Array.isArray(patients) ? patients.map((each) => (each as { mrn?: unknown } | null)?.mrn) : [];
  return [patient_mrn, mrn, duplicate_patient_mrn, ...from_patients].filter(
    // PostgreSQL cannot store a NUL character.
    (each): each is string => typeof each === 'string' && each !== '' && !each.includes('\0'),
  );
}
