import { type Static, Type } from 'typebox';
import { date_time, id, nullable, patientDetail } from '../../../model/fields.ts';
import { review_outcomes } from '../../../product/jobs/jobs.ts';
import { job_filters } from '../../../product/jobs/listJobs.ts';
import { event_details } from '../events/schema.ts';

const optional_time = nullable(date_time);

/** A job in a list, without patient data. */
export const job_row = Type.Object({
  job_id: Type.Integer(),
  type: Type.String(),
  /** `parked`: the job waits for its account to be re-linked. `retrying`: earlier attempts have failed. */
  state: Type.Enum([
    'queued',
    'running',
    'retrying',
    'parked',
    'succeeded',
    'partial',
    'failed',
    'needs_review',
    'cancelled',
  ]),
  account: Type.Object({ id, reference_id: Type.String(), user_id: Type.String(), org_id: Type.String() }),
  attempts: Type.Integer(),
  /** Of a job that is retried: when its first attempt failed, and which write failed last, if it was one. */
  retrying_since: optional_time,
  failing_step: nullable(Type.String()),
  created_at: date_time,
  started_at: optional_time,
  finished_at: optional_time,
  /** How long it waited for its account to be re-linked. */
  parked_ms: Type.Integer(),
  error_code: nullable(Type.String()),
  review_outcome: nullable(Type.Enum([...review_outcomes])),
  run_again_of: nullable(Type.Integer()),
});
export type JobRow = Static<typeof job_row>;

/** How many jobs match, at most 1,000 (`more`); null for further pages. */
export const job_count = nullable(Type.Object({ jobs: Type.Integer(), more: Type.Boolean() }));

/** Filters that may appear in a URL. */
export const job_filter_fields = {
  type: Type.Optional(Type.String({ maxLength: 100 })),
  state: Type.Optional(Type.Enum([...job_filters])),
  account_id: Type.Optional(Type.String({ maxLength: 36 })),
  organization_id: Type.Optional(Type.String({ maxLength: 36 })),
  /** The connector of the practice's EMR. */
  emr: Type.Optional(Type.String({ maxLength: 100 })),
  /** A failure code, and which reason, if its jobs have several. */
  code: Type.Optional(Type.String({ maxLength: 100 })),
  reason: Type.Optional(Type.String({ maxLength: 20 })),
  from: Type.Optional(date_time),
  to: Type.Optional(date_time),
  finished_from: Type.Optional(date_time),
  finished_to: Type.Optional(date_time),
  before: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
};

/** Filters that must not appear in a URL. */
export const patient_filter_fields = {
  mrn: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  reference: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
};

/** What a list row says about a patient: the MRN, the failure reason, which may quote the chart, and the client's reference. */
export const job_patient = Type.Object({
  job_id: Type.Integer(),
  mrn: patientDetail(nullable(Type.String())),
  /** The EMR's own text, which can name the patient. */
  message: patientDetail(nullable(Type.String())),
  reference: patientDetail(nullable(Type.String())),
});

/** What a step recorded. Without patient details it still says whether a write was saved, and how many records were read. */
export const step_detail = Type.Object(
  {
    marker: Type.Optional(Type.String()),
    /** Of an intent: the EMR accepted the write, but its record does not show it. */
    accepted: Type.Optional(Type.Boolean()),
    /** Of an outcome that changed nothing in the EMR: the failure code. */
    not_applied: Type.Optional(Type.String()),
    in_ms: Type.Optional(Type.Number()),
    /** Requests of a sync to the EMR. */
    sent: Type.Optional(Type.Number()),
    /** Of a list that a sync read. */
    stored: Type.Optional(Type.Number()),
    removed: Type.Optional(Type.Number()),
    held_back: Type.Optional(Type.Object({ stored: Type.Number(), missing: Type.Number() })),
    refused: Type.Optional(patientDetail(Type.String())),
    /** Operations that the EMR started or stopped supporting. */
    gained: Type.Optional(Type.Array(Type.String())),
    lost: Type.Optional(Type.Array(Type.String())),
    reason: Type.Optional(patientDetail(Type.String())),
    ehr_id: Type.Optional(patientDetail(Type.String())),
    mrn: Type.Optional(patientDetail(Type.String())),
  },
  { additionalProperties: true },
);

export const job_step = Type.Object({
  name: Type.String(),
  kind: Type.Enum(['note', 'intent', 'outcome']),
  attempt: Type.Integer(),
  at: date_time,
  detail: nullable(step_detail),
});
export type JobStep = Static<typeof job_step>;

/** The event that reported the outcome of a job, with its delivery attempts. */
export const job_event = Type.Pick(event_details, ['id', 'type', 'created_at', 'deliveries']);
export type JobEvent = Static<typeof job_event>;

/** A field that the EMR reported as changed. */
export const changed_field = Type.Object({
  field_label: Type.String(),
  property: Type.String(),
  before: patientDetail(nullable(Type.String())),
  after: patientDetail(nullable(Type.String())),
  note: Type.Optional(patientDetail(Type.String())),
});

/** A value of a field and what it is called; `record`: the stored record that it names. */
export const choice = Type.Object({
  value: Type.String(),
  label: Type.String(),
  record: Type.Optional(nullable(Type.Object({ kind: Type.String(), id }))),
});
export type Choice = Static<typeof choice>;

/** A field of the request, with the names of what it refers to. */
export const request_field = Type.Object({
  name: Type.String(),
  value: Type.Unknown(),
  names: Type.Array(choice),
});
export type RequestField = Static<typeof request_field>;

/** A field of the form in which a failed request is edited. */
export const edit_field = Type.Object({
  ...request_field.properties,
  description: Type.String(),
  input: Type.Enum(['text', 'choice', 'boolean', 'number', 'date', 'list', 'json']),
  required: Type.Boolean(),
  max_length: nullable(Type.Integer()),
  choices: Type.Array(choice),
  /** It names a record or code of the practice, which can be searched for (`jobs.edit.choices`). */
  searchable: Type.Boolean(),
  /** The request clears the field in the EMR. */
  cleared: Type.Boolean(),
  /** The fields that a value of this one replaces. */
  instead_of: Type.Array(Type.String()),
  /** The values that the EMR named when it rejected the request. */
  accepted: Type.Array(Type.String()),
});
export type EditField = Static<typeof edit_field>;

/** The chart that the EMR has of a duplicate patient. */
const existing_patient = nullable(
  Type.Object({ mrn: patientDetail(Type.String()), organization_id: id, id: nullable(id) }),
);

export const edit_form = Type.Object({
  job_id: Type.Integer(),
  type: Type.String(),
  emr: Type.String(),
  organization_id: id,
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  existing_patient,
  fields: Type.Array(edit_field),
  /** The steps that are saved in the EMR already, and would be saved a second time. */
  saved_steps: Type.Array(Type.String()),
});

/** What an operator sends: the whole request, and a key that the page chose when it opened the form. */
export const edited_request = {
  request: Type.Record(Type.String({ maxLength: 100 }), Type.Unknown()),
};

/** A job with all its details. */
export const job_details = Type.Object({
  ...job_row.properties,
  operation_id: id,
  organization_id: id,
  emr: Type.String(),
  /** The fields of the accepted request that the client has sent, or those that the write changes. */
  request: patientDetail(Type.Array(request_field)),
  /** The same as it is stored, with what was looked up for it. */
  input: patientDetail(Type.Record(Type.String(), Type.Unknown())),
  /** The client's own reference, which can name the patient. */
  reference: patientDetail(nullable(Type.String())),
  /** How many requests a sync sent to the EMR; null for other jobs. */
  emr_requests: nullable(Type.Integer()),
  patient_mrn: patientDetail(nullable(Type.String())),
  /** The patient's record, if the patient is in the cache. These ids say nothing about the patient. */
  patient: nullable(Type.Object({ organization_id: id, id })),
  /** Why the account needs attention, in the EMR's words. */
  account_reason: patientDetail(nullable(Type.String())),
  parked_since: optional_time,
  /** For a waiting job: its next attempt, or the job of the same patient that runs first. */
  next_try_at: optional_time,
  waits_for: nullable(Type.Integer()),
  error: nullable(
    Type.Object({ code: Type.String(), message: patientDetail(Type.String()) }, { additionalProperties: true }),
  ),
  existing_patient,
  steps: Type.Array(job_step),
  changes: Type.Array(changed_field),
  /** Null if there is no event yet, or if it was deleted (`event_gone`). */
  event: nullable(job_event),
  event_gone: Type.Boolean(),
  /** All jobs of the same operation, including this one, oldest first. */
  runs: Type.Array(Type.Object({ job_id: Type.Integer(), state: Type.String(), created_at: date_time })),
  review: nullable(
    Type.Object({
      outcome: Type.Enum([...review_outcomes]),
      note: patientDetail(Type.String()),
      by: Type.String(),
      at: date_time,
    }),
  ),
  /** The traces of the request and of the last attempt; null if they were not recorded. */
  request_trace_id: nullable(Type.String()),
  attempt_trace_id: nullable(Type.String()),
  /** The latest other jobs of the same patient. */
  related: Type.Array(job_row),
  /** Why the job cannot be run again; null if it can. */
  not_again: nullable(Type.String()),
  /** Why the request cannot be edited and sent again; null if it can. */
  not_editable: nullable(Type.String()),
  /** The failed job that this one corrects, and the job that corrects this one. */
  edited_from_job_id: nullable(Type.Integer()),
  edited_copy: nullable(Type.Object({ job_id: Type.Integer(), state: Type.String() })),
});
export type JobDetails = Static<typeof job_details>;
