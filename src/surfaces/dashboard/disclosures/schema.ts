import { type Static, Type } from 'typebox';
import { date_time, day, id, nullable } from '../../../model/fields.ts';
import { accounting_formats, standings } from '../../../product/disclosures/accounting.ts';
import { disclosure_kinds } from '../../../product/disclosures/disclosures.ts';

/** The disclosures of a day that have the same recipient, kind and action. */
export const disclosure_row = Type.Object({
  first_at: date_time,
  last_at: date_time,
  count: Type.Integer(),
  kind: Type.Enum([...disclosure_kinds]),
  /** As in the audit log: an endpoint's id, `webhook.deliver`, `job.patient.create`. */
  action: Type.String(),
  /** The application or operator. */
  recipient: Type.String(),
  /** The linked account's reference id, its user and its practice. */
  account: nullable(Type.String()),
  user_id: nullable(Type.String()),
  org_id: nullable(Type.String()),
  event_type: nullable(Type.String()),
  /** The host that an event or a write was sent to. */
  destination: nullable(Type.String()),
  endpoint_id: nullable(Type.String()),
  /** False: the receiver did not confirm the event, but may have read it. */
  confirmed: Type.Boolean(),
  /** Where requests came from: the first few. The audit log has all. */
  addresses: Type.Array(Type.String()),
});

/**
 * A patient by id, from the patient's page, or by MRN. An MRN is in the body only: URLs appear in logs. Without a
 * practice, the disclosures of all practices of the client with this MRN are listed.
 */
const patient = {
  patient_id: Type.Optional(id),
  patient_mrn: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  organization_id: Type.Optional(id),
};
const filters = {
  kind: Type.Optional(Type.Enum([...disclosure_kinds])),
  /** Only what this linked account received. */
  account_id: Type.Optional(id),
  /** Days in UTC, both inclusive. Default: six years up to today. */
  from: Type.Optional(day()),
  to: Type.Optional(day()),
};
export const disclosure_search = Type.Object({
  ...patient,
  ...filters,
  before: Type.Optional(Type.String({ maxLength: 120 })),
  page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
});
export const disclosure_export = Type.Object({ ...patient, ...filters, format: Type.Enum([...accounting_formats]) });
const requested = Type.Object({ ...patient, ...filters });
export type RequestedAccounting = Static<typeof requested>;

const coverage = {
  patient: Type.Object({
    /** stored: among the cached records. erased: deleted on request. unknown: neither, or no practice was named. */
    standing: Type.Enum([...standings]),
    /** How many other charts were merged with the patient's. Their disclosures are listed too. */
    merged_charts: Type.Integer(),
  }),
  collected: Type.Object({
    /** The last audit record that was collected; null before the first. */
    until: nullable(date_time),
    /** False: newer records exist that are not listed yet. */
    complete: Type.Boolean(),
  }),
};

export const disclosure_page = { rows: Type.Array(disclosure_row), next: nullable(Type.String()), ...coverage };

/** A CSV file, or a JSON document. */
export const disclosure_file = Type.Union([
  Type.String(),
  Type.Object({ from: day(), to: day(), ...coverage, disclosures: Type.Array(disclosure_row) }),
]);
