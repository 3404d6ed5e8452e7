import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../fields.ts';

const actor_kinds = ['client', 'operator', 'link', 'worker', 'system'] as const;

/** A record of the audit trail. Of patients only their number is known: the trail holds no MRN. */
export const audit_record = Type.Object({
  id,
  at: date_time,
  /** null for what stands above the clients. */
  client_id: nullable(Type.String()),
  client_name: nullable(Type.String()),
  actor_kind: Type.Enum([...actor_kinds]),
  actor: Type.String(),
  /** The linked account's reference id. */
  account: nullable(Type.String()),
  /** An endpoint's id, or what was done: `job.patient.create`, `account.link`, `operator.sign_in`. */
  action: Type.String(),
  /** An HTTP status, the state of a job, or a word. */
  outcome: Type.String(),
  request_id: nullable(Type.String()),
  job_id: nullable(Type.Integer()),
  subject: nullable(Type.String()),
  patients: Type.Integer(),
  detail: nullable(Type.Record(Type.String(), Type.Unknown())),
  /** Its place in the chain; null for about a second. */
  position: nullable(Type.Integer()),
});
export type AuditRecord = Static<typeof audit_record>;

/** Every filter narrows. An MRN is none of them: what stands in an address stands in logs. */
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
/** Newest first: the next page is the one before the last record of this one. */
export const audit_paging = {
  before: Type.Optional(id),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
};
const search = Type.Object({ ...audit_filters, ...patient_filter, ...audit_paging });
export type AuditSearch = Static<typeof search>;

export const audit_page = {
  rows: Type.Array(audit_record),
  /** `before` of the next page; null at the end. */
  next: nullable(id),
};

export const audit_fault = Type.Object({
  position: nullable(Type.Integer()),
  id: nullable(Type.String()),
  what: Type.Enum(['changed', 'not_linked', 'missing', 'beyond_head', 'head_broken']),
});
export type AuditFault = Static<typeof audit_fault>;

/** The verification answers one JSON text a line: how far it is, and at last the verdict. */
export const audit_progress = Type.Object({ checked: Type.Integer(), total: Type.Integer() });
export type AuditProgress = Static<typeof audit_progress>;
export const audit_verdict = Type.Object({
  ok: Type.Boolean(),
  checked: Type.Integer(),
  /** Records that have no place in the chain yet. */
  unsealed: Type.Integer(),
  /** The first hundred. */
  faults: Type.Array(audit_fault),
});
export type AuditVerdict = Static<typeof audit_verdict>;
export const audit_verify_line = Type.Union([audit_progress, Type.Object({ verdict: audit_verdict })]);
export type AuditVerifyLine = Static<typeof audit_verify_line>;
