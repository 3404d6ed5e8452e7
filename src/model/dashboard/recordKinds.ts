import { type Static, Type } from 'typebox';
import { date_time, nullable } from '../fields.ts';
import { type Kind, record_kinds } from '../records/kinds.ts';

export type DashboardKind = Kind & { dashboard_columns: readonly string[] };

/** Kinds with a list on the dashboard: those about patients first. */
export const dashboard_kinds: readonly DashboardKind[] = record_kinds
  .filter((kind): kind is DashboardKind => kind.dashboard_columns !== undefined)
  .sort((a, b) => Number(b.mrn_column !== undefined) - Number(a.mrn_column !== undefined));

/** A kind on the dashboard: what its list page needs, and what an organization has of it. */
export const kind_row = Type.Object({
  kind: Type.Enum(dashboard_kinds.map(({ name }) => name)),
  /** In the plural, with a capital letter. */
  label: Type.String(),
  /** `all`: GET …/records/{kind}. `search`: POST …/records/{kind}/search, with these filters. */
  reads: Type.Enum(['all', 'search']),
  filters: Type.Array(Type.String()),
  /** Fields of a record; a dot leads into an object. */
  columns: Type.Array(Type.String()),
  total: Type.Integer(),
  /** When a sync last read the kind; null if none has. */
  synced_at: nullable(date_time),
});
export type KindRow = Static<typeof kind_row>;

/** Kinds with filters are searched; the others are short and listed in one piece. */
export function isSearched(kind: Kind): boolean {
  return Object.keys(kind.filters).length > 0;
}
