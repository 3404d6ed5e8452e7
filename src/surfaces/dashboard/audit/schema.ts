import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../../../model/fields.ts';
import { fault_kinds } from '../../../product/audit/auditRecords.ts';
import { actor_kinds } from '../../../product/context.ts';

/** A record of the audit log. It contains no MRNs, only the number of patients. */
export const audit_record = Type.Object({
  id,
  at: date_time,
  /** Null for actions that do not belong to a client. */
  client_id: nullable(Type.String()),
  client_name: nullable(Type.String()),
  actor_kind: Type.Enum([...actor_kinds]),
  actor: Type.String(),
  /** The linked account's reference id. */
  account: nullable(Type.String()),
  /** An endpoint's id, or another action: `job.patient.create`, `account.link`, `operator.sign_in`. */
  action: Type.String(),
  /** An HTTP status, a job state, or another result. */
  outcome: Type.String(),
  request_id: nullable(Type.String()),
  job_id: nullable(Type.Integer()),
  subject: nullable(Type.String()),
  patients: Type.Integer(),
  detail: nullable(Type.Record(Type.String(), Type.Unknown())),
  /** The IP address that the request came from; null for actions of the service, and in records of 0.1. */
  address: nullable(Type.String()),
  /** Position in the chain; null for about a second. */
  position: nullable(Type.Integer()),
});
export type AuditRecord = Static<typeof audit_record>;

/** A record with what a page shows of it. */
export const audit_row = Type.Object({
  ...audit_record.properties,
  /** The name of the client or the operator; null for others, and for those that no longer exist. */
  actor_name: nullable(Type.String()),
  /** What happened, in a sentence. */
  sentence: Type.String(),
  /** The outcome in words. */
  result: Type.String(),
  failed: Type.Boolean(),
  /** Whether the actor only read something. */
  reads: Type.Boolean(),
});
export type AuditRow = Static<typeof audit_row>;

/** Filters are combined. An MRN is not one of them, because URLs appear in logs. */
export const audit_filters = {
  client_id: Type.Optional(Type.String({ maxLength: 100 })),
  actor_kind: Type.Optional(Type.Enum([...actor_kinds])),
  actor: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
  action: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  from: Type.Optional(date_time),
  /** Exclusive. */
  to: Type.Optional(date_time),
};
export const patient_filter = {
  patient_mrn: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
};
/** Newest first: `before` is the last record of the previous page. */
export const audit_paging = {
  /** Leaves out that the operator read this list. */
  own_reading: Type.Optional(Type.Enum(['hide'])),
  before: Type.Optional(id),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
};
const search = Type.Object({ ...audit_filters, ...patient_filter, ...audit_paging });
export type AuditSearch = Static<typeof search>;

export const audit_page = {
  rows: Type.Array(audit_row),
  /** The value of `before` for the next page; null on the last page. */
  next: nullable(id),
};

export const audit_fault = Type.Object({
  position: nullable(Type.Integer()),
  /** Of the record; for `trigger`, its name. */
  id: nullable(Type.String()),
  what: Type.Enum([...fault_kinds]),
});

/** The verification streams JSON lines: progress, then the verdict. */
export const audit_progress = Type.Object({ checked: Type.Integer(), total: Type.Integer() });
export const audit_verdict = Type.Object({
  ok: Type.Boolean(),
  checked: Type.Integer(),
  /** Records that are not in the chain yet. */
  unsealed: Type.Integer(),
  /** The first 100. */
  faults: Type.Array(audit_fault),
});
export const audit_verify_line = Type.Union([audit_progress, Type.Object({ verdict: audit_verdict })]);
export type AuditVerifyLine = Static<typeof audit_verify_line>;
