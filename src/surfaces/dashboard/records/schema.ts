import { type Static, Type } from 'typebox';
import { date_time, id, nullable } from '../../../model/fields.ts';
import { type Kind, record_kinds } from '../../../model/records/kinds.ts';
import { job_row } from '../jobs/schema.ts';

export type DashboardKind = Kind & { dashboard_columns: readonly string[] };

/** Kinds with a list on the dashboard: those about patients first. */
export const dashboard_kinds: readonly DashboardKind[] = record_kinds
  .filter((kind): kind is DashboardKind => kind.dashboard_columns !== undefined)
  .sort((a, b) => Number(b.mrn_column !== undefined) - Number(a.mrn_column !== undefined));

/** A record kind on the dashboard: what its list page needs, and how many records an organization has. */
export const kind_row = Type.Object({
  kind: Type.Enum(dashboard_kinds.map(({ name }) => name)),
  /** Plural, capitalized. */
  label: Type.String(),
  /** `all`: GET …/records/{kind}. `search`: POST …/records/{kind}/search, with these filters. */
  reads: Type.Enum(['all', 'search']),
  filters: Type.Array(Type.String()),
  /** Fields of a record; a dot separates nested fields. */
  columns: Type.Array(Type.String()),
  total: Type.Integer(),
  /** When a sync last read the kind; null if none has. */
  synced_at: nullable(date_time),
  /** What is stored is incomplete until the first sync has read the list to its end. */
  first_sync_pending: Type.Boolean(),
  /** The newest sync, if the EMR refused it this list. */
  refused_in: nullable(Type.Integer()),
});
export type KindRow = Static<typeof kind_row>;

/** The error's text is on the job's page. */
export const latest_sync = Type.Object({
  job_id: Type.Integer(),
  state: job_row.properties.state,
  error_code: nullable(Type.String()),
  at: date_time,
});
export type LatestSync = Static<typeof latest_sync>;

export const organization_choice = Type.Object({
  id,
  org_id: Type.String(),
  emr_name: Type.String(),
  timezone: Type.String(),
});
export type OrganizationChoice = Static<typeof organization_choice>;

/** A patient found among all organizations of a client. */
export const found_patient = Type.Object({
  id,
  organization_id: id,
  org_id: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  dob: nullable(Type.String()),
  mrn: nullable(Type.String()),
});
export type FoundPatient = Static<typeof found_patient>;

/** Kinds with filters are searched, except for short ones, which are returned in one response. */
export function isSearched(kind: Kind): boolean {
  return kind.list?.returns !== 'all' && Object.keys(kind.filters).length > 0;
}
