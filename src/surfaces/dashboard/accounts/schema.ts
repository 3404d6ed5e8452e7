import { type Static, Type } from 'typebox';
import { connection_report, report_findings, report_outcome } from '../../../model/connectionReport.ts';
import { date_time, id, nullable, patientDetail, text } from '../../../model/fields.ts';
import { LinkTokenRequest } from '../../../model/link.ts';
import { outage } from '../overview/schema.ts';

/** What is known about an operation of an account. */
export const evidence_row = Type.Object({
  capability: Type.String(),
  /** `declared`: the server says so. `works`: it was seen to work. `refused`: the server refused it. */
  state: Type.Enum(['declared', 'works', 'refused']),
  /** The server's words. */
  detail: patientDetail(nullable(Type.String())),
  /** Of a list: how many records are stored. */
  records: nullable(Type.Integer()),
  at: date_time,
});

export const account_row = Type.Object({
  id,
  user_id: Type.String(),
  reference_id: Type.String(),
  status: Type.Enum(['active', 'login_required', 'revoked']),
  /** Why the account needs attention, in the EMR's words. */
  reason: patientDetail(nullable(Type.String())),
  emr_user_name: Type.String(),
  linked_at: date_time,
  /** Jobs that wait for the account to be re-linked. */
  parked_jobs: Type.Integer(),
  /** Operations that the account's EMR supports, and those that only other EMRs support. */
  capabilities: Type.Array(Type.String()),
  lacks: Type.Array(Type.String()),
  evidence: Type.Array(evidence_row),
  /** How many writes may run at the same time, and why; null if the connector does not measure it. */
  parallel_writes: nullable(
    Type.Object({
      now: Type.Integer(),
      max: Type.Integer(),
      reason: Type.Enum(['start', 'creates', 'too_busy', 'collided', 'failed', 'setting']),
      at: nullable(date_time),
      /** Until then it is not raised. */
      held_until: nullable(date_time),
    }),
  ),
});
export type AccountRow = Static<typeof account_row>;

export const mrn_rule = Type.Object({
  system: nullable(Type.String()),
  type: nullable(Type.String()),
  /** `organization`, `app`: set by an operator. `guess`: from a sample of patients. `none`: decided per patient. */
  source: Type.Enum(['organization', 'app', 'guess', 'none']),
});

/** A visit type of an EMR that does not list them. `minutes`: its usual length, null if it has none. */
export const visit_type = Type.Object({
  code: text({ maxLength: 50 }),
  description: text({ maxLength: 150 }),
  minutes: nullable(Type.Integer({ minimum: 1, maximum: 1440 })),
});

const sync_row = Type.Object({
  job_id: Type.Integer(),
  state: Type.String(),
  at: date_time,
  /** How many requests it sent to the EMR. */
  emr_requests: Type.Integer(),
});

export const organization_row = Type.Object({
  id,
  org_id: Type.String(),
  emr: Type.String(),
  emr_name: Type.String(),
  emr_address: Type.String(),
  timezone: Type.String(),
  /** What an operator set for the EMR's server; null: the default. */
  settings: Type.Object({
    mrn_system: nullable(Type.String()),
    mrn_type: nullable(Type.String()),
    parallel_writes_max: nullable(Type.Integer()),
    visit_types: nullable(Type.Array(visit_type)),
  }),
  /** The EMR does not list its visit types, so that they are a setting. */
  sets_visit_types: Type.Boolean(),
  /** Which identifier is the MRN, and who says so; null if the connector has no rule for it. */
  mrn: nullable(mrn_rule),
  /** The connector's own limit of parallel writes, if that is measured. */
  measured_max: nullable(Type.Integer()),
  /** The latest sync, with the state of its job, or `parked`. */
  sync: nullable(sync_row),
  /** The syncs before it, newest first. */
  earlier_syncs: Type.Array(sync_row),
  /** Of the syncs that started in the last hour, and how many one may send in an hour. */
  emr_requests_last_hour: Type.Integer(),
  emr_requests_per_hour_max: Type.Integer(),
  /** The last complete sync of each record kind. */
  kinds: Type.Array(
    Type.Object({ kind: Type.String(), records: Type.Integer(), at: date_time, job_id: Type.Integer() }),
  ),
  /** Lists of which a sync would remove so many records that it waits for an operator's confirmation. */
  held_removals: Type.Array(
    Type.Object({
      kind: Type.String(),
      stored: Type.Integer(),
      missing: Type.Integer(),
      at: date_time,
      /** The next full sync removes them. */
      confirmed: Type.Boolean(),
    }),
  ),
  /** What the EMR fails at now; null if it responds. */
  outage: nullable(Type.Omit(outage, ['organization_id', 'org_id', 'emr_name', 'emr_address'])),
  accounts: Type.Array(account_row),
});
export type OrganizationRow = Static<typeof organization_row>;

export const emr_row = Type.Object({ emr: Type.String(), emr_name: Type.String() });

/** The EMR fields are required only for a new organization. */
export const new_link = Type.Object({
  org_id: LinkTokenRequest.properties.org_id,
  user_id: LinkTokenRequest.properties.user_id,
  emr_name: Type.Optional(text()),
  emr_instance_domain: Type.Optional(text()),
  language: Type.Optional(Type.Enum(['en', 'es'])),
});

/** A link to send to a practice. Anyone who has it can sign in once, until it expires. */
export const created_link = Type.Object({ url: Type.String(), minutes: Type.Integer(), expires_at: date_time });
export type CreatedLink = Static<typeof created_link>;

/** Which identifier of a patient is the MRN. Null or blank: not set. */
export const mrn_setting = {
  mrn_system: Type.Optional(nullable(Type.String({ maxLength: 500 }))),
  mrn_type: Type.Optional(nullable(Type.String({ maxLength: 50 }))),
};

/** The settings of an organization for its EMR's server. Fields that are not sent stay as they are. */
export const emr_settings_changes = Type.Object({
  ...mrn_setting,
  parallel_writes_max: Type.Optional(nullable(Type.Integer({ minimum: 1, maximum: 16 }))),
  /** For EMRs that do not list their visit types. */
  visit_types: Type.Optional(nullable(Type.Array(visit_type, { maxItems: 200 }))),
});

/** The identifiers of a few patients. Of each value, only the last two characters are shown. */
export const identifier_sample = Type.Object({
  patients: Type.Integer(),
  identifiers: Type.Array(
    Type.Object({
      system: nullable(Type.String()),
      type: nullable(Type.String()),
      patients: Type.Integer(),
      examples: Type.Array(Type.String()),
    }),
  ),
});

/** A connection report in a list. `account_id` is null for a failed attempt to link. */
export const report_row = Type.Object({
  id,
  account_id: nullable(id),
  org_id: Type.String(),
  user_id: Type.String(),
  at: date_time,
  address: Type.String(),
  /** What the last request that did not succeed found. */
  note: patientDetail(nullable(Type.String())),
  ...report_outcome,
  /** It can quote the EMR. */
  error_message: patientDetail(report_outcome.error_message),
});

const report_step = connection_report.properties.steps.items;

/** The notes contain the EMR's words. */
export const report_details = Type.Object({
  ...report_row.properties,
  report: Type.Object({
    ...connection_report.properties,
    steps: Type.Array(Type.Object({ ...report_step.properties, note: Type.Optional(patientDetail(Type.String())) })),
  }),
  findings: report_findings,
});
