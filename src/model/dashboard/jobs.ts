import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../fields.ts';
import { event_whole } from './events.ts';
import { job_filters, review_outcomes } from './jobWords.ts';

const moment = nullable(date_time);

/** A job in a list. Nothing here tells of a patient. */
export const job_row = Type.Object({
  job_id: Type.Integer(),
  type: Type.String(),
  /** `parked` where the job waits for its account to be linked again. */
  state: Type.Enum(['queued', 'running', 'parked', 'succeeded', 'partial', 'failed', 'needs_review']),
  account: Type.Object({ id, user_id: Type.String(), org_id: Type.String() }),
  attempts: Type.Integer(),
  created_at: date_time,
  started_at: moment,
  finished_at: moment,
  error_code: nullable(Type.String()),
  review_outcome: nullable(Type.Enum([...review_outcomes])),
  run_again_of: nullable(Type.Integer()),
});
export type JobRow = Static<typeof job_row>;

/** By what a list of jobs may be narrowed in an address. */
export const job_filter_fields = {
  type: Type.Optional(Type.String({ maxLength: 100 })),
  state: Type.Optional(Type.Enum([...job_filters])),
  account_id: Type.Optional(Type.String({ maxLength: 36 })),
  from: Type.Optional(date_time),
  to: Type.Optional(date_time),
  before: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
};

export const job_step = Type.Object({
  name: Type.String(),
  kind: Type.Enum(['note', 'intent', 'outcome']),
  attempt: Type.Integer(),
  at: date_time,
  detail: nullable(Type.Record(Type.String(), Type.Unknown())),
});
export type JobStep = Static<typeof job_step>;

/** The event in which a job ended, and each try to tell the application of it. */
export const job_event = Type.Pick(event_whole, ['id', 'type', 'created_at', 'deliveries']);
export type JobEvent = Static<typeof job_event>;

/** One field that the EMR says it changed. */
export const changed_field = Type.Object({
  field_label: Type.String(),
  property: Type.String(),
  before: nullable(Type.String()),
  after: nullable(Type.String()),
  note: Type.Optional(Type.String()),
});
export type ChangedField = Static<typeof changed_field>;

/** All there is to know of one job. */
export const job_whole = Type.Object({
  ...job_row.properties,
  operation_id: id,
  emr: Type.String(),
  /** What was asked for, as it was accepted. */
  input: Type.Record(Type.String(), Type.Unknown()),
  patient_mrn: nullable(Type.String()),
  account_reason: nullable(Type.String()),
  parked_since: moment,
  /** While it waits: when it is tried next, or which job of the same patient goes first. */
  next_try_at: moment,
  waits_for: nullable(Type.Integer()),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() }, { additionalProperties: true })),
  steps: Type.Array(job_step),
  changes: Type.Array(changed_field),
  /** Null while there is none; `event_gone` where it was deleted since. */
  event: nullable(job_event),
  event_gone: Type.Boolean(),
  /** Every job of the same operation, this one among them, oldest first. */
  runs: Type.Array(Type.Object({ job_id: Type.Integer(), state: Type.String(), created_at: date_time })),
  review: nullable(
    Type.Object({
      outcome: Type.Enum([...review_outcomes]),
      note: Type.String(),
      by: Type.String(),
      at: date_time,
    }),
  ),
  /** Why it cannot be run again; null where it can. */
  not_again: nullable(Type.String()),
});
export type JobWhole = Static<typeof job_whole>;
