import type { Static, TObject, TSchema } from 'typebox';
import type { ReadSubject } from '../consents.ts';
import type { SyncEventOf } from '../events.ts';
import { choices, phoneDigits, requiredDays, text } from '../fields.ts';
import type { Group } from '../groups.ts';

/**
 * A kind of record that the service copies from an EMR. Sync, paging, totals, list endpoints, the dashboard's lists and
 * searches, the reference and the connector checks are derived from this declaration. A new kind only needs its table, a
 * line in kinds.ts and the connectors' mapping.
 */
export type RecordKind<
  Name extends string = string,
  Operation extends string = string,
  Source extends TObject = TObject,
> = {
  /** The name of its table and of its list in responses; with hyphens, its path (`visit_types`, `/v1/visit-types`). */
  name: Name;
  /** The connector operation that lists its records. */
  operation: Operation;
  /** The name under which Link lists it among what an account can read. */
  consent: ReadSubject | null;
  /** A record as connectors return it. */
  source: Source;
  /** A record as the API returns it. */
  wire: TObject;
  labels: { singular: string; plural: string };
  /** The group of the API reference in which its endpoints appear. */
  group: Group;
  /** Kinds that must be synced earlier, because rows of this kind copy values from theirs. */
  after: readonly string[];
  /** A sync leaves records of inactive providers alone. The source then has `provider_ehr_id`. */
  active_providers_only: boolean;
  /** Its list covers the time from now on (`starts_at`), so that past records leave it without being deleted. */
  lists_future_only: boolean;
  /** Columns that belong to the service and survive a sync; `row` gets their values. */
  kept_columns: readonly string[];
  /** Writes of ours change its records. Its table has the column `written_in`; see 0008_practice_records.sql. */
  written_by_us: boolean;
  /** Which of its changes are sync events. */
  announced?: Announced;
  /** Maps a record to its row. Kinds that copy from other tables have a row function in records/ instead. */
  row(source: Static<Source>, id: string, stored: StoredColumns | undefined): RecordRow;
  /** Query parameters. Each column has its own index. */
  filters: Readonly<Record<string, Filter>>;
  order: readonly Order[];
  /** The column with the MRN of the patient a record is about. Reads of such kinds are audited. */
  mrn_column?: string;
  /** Its changes are in `GET /v1/changes`. Its table has the triggers of `keep_changes` (0007_records.sql). */
  in_change_feed: boolean;
  /** Triggers keep its totals in `record_counts`; otherwise rows are counted at each request. */
  counted: boolean;
  /** Its endpoint `GET /v1/<name>`, if it has one. With `search`, also `POST /v1/<name>/search`. */
  list?: RecordList;
  /** Wire fields that the dashboard shows in its list; absent for kinds without a page there. */
  dashboard_columns?: readonly string[];
};

/** `doc` is the JSON that the API returns; the rest are columns to filter and sort by. */
export type RecordRow = { doc: Record<string, unknown> } & Record<string, unknown>;
export type StoredColumns = Record<string, unknown>;

/** What people care about in the changes of a kind. */
export type Announced = {
  /** The fields of `doc` whose changes count. */
  fields: readonly string[];
  /** What it means if the EMR does not give a field, or our own write did not store it. Default: null. */
  absent?: Readonly<Record<string, unknown>>;
  /** Columns of the stored row that `toEvent` compares, besides `doc`. */
  columns: readonly string[];
  /** The event of a change, if there is one. `before` is undefined for a record that is new in the EMR. */
  toEvent(change: {
    before: RecordRow | undefined;
    after: RecordRow;
    changed_fields: string[];
  }): SyncEventOf | undefined;
  /** The event of a record that was merged into another one. `surviving` is that one's `doc`, if it is stored. */
  toMergedEvent?(merge: {
    doc: RecordRow['doc'];
    surviving_ehr_id: string | null;
    surviving: RecordRow['doc'] | undefined;
  }): SyncEventOf;
  /** Whether a write of ours with this input, whose outcome is not known yet, can have created the record. */
  isOwn?(type: string, input: Record<string, unknown>, doc: Record<string, unknown>): boolean;
};

export type RecordList = { summary: string } & (
  | { returns: 'all' }
  | PagedList
  /** The records of the patient that the `patient_mrn` filter names, without paging. */
  | { returns: 'one_patient'; records_max: number }
);

export type PagedList = {
  returns: 'pages';
  page_size_max: number;
  search?: RecordSearch;
  /** Other orders than the kind's, by the value of the parameter `sort`. */
  sorts?: Readonly<Record<string, { order: readonly Order[]; description: string }>>;
  /** The filters that a request must name. */
  required?: readonly string[];
  /** The most days from `start_date` to `end_date`. */
  days_max?: number;
  withheld?: WithheldFields;
};

/** Fields that are null in the list unless the request asks for them. `column` has the records without them. */
export type WithheldFields = { parameter: string; column: string; description: string };

/** `POST /v1/<name>/search`: the list with its filters and paging in the body, which keeps them out of URLs. */
export type RecordSearch = { summary: string; schema_name: string };

/**
 * Matches when any of the columns does. `contains` compares by `fold` and needs folded columns, whose suffixes are stored
 * (`keep_name_suffixes` in 0007_records.sql).
 */
export type Filter = {
  columns: readonly string[];
  /** `any_of`: the value is a list, separated by commas. */
  match: 'equals' | 'any_of' | 'contains' | DayMatch;
  schema: TSchema;
  /** The value that matches every record. */
  any?: string;
  /** Converts a value to the form of the columns. */
  stored?: (sent: string) => string;
};
/** Compares dates, or instants (`local`) by their day in the organization's time zone. */
type DayMatch = 'from_day' | 'to_day' | 'from_local_day' | 'to_local_day';

export type Order = { column: string; descending?: true };

type Defaults =
  | 'after'
  | 'active_providers_only'
  | 'lists_future_only'
  | 'kept_columns'
  | 'written_by_us'
  | 'row'
  | 'filters'
  | 'order'
  | 'in_change_feed'
  | 'counted';

export function recordKind<const Name extends string, const Operation extends `list${string}`, Source extends TObject>(
  declaration: Omit<RecordKind<Name, Operation, Source>, Defaults> &
    Partial<Pick<RecordKind<Name, Operation, Source>, Defaults>>,
): RecordKind<Name, Operation, Source> {
  return {
    after: [],
    active_providers_only: false,
    lists_future_only: false,
    kept_columns: [],
    written_by_us: false,
    row: (source, id) => ({ doc: { id, ...source } }),
    filters: {},
    order: [],
    in_change_feed: false,
    counted: false,
    ...declaration,
  };
}

export function equals(columns: string | readonly string[], schema: TSchema = text({ minLength: 1 })): Filter {
  return { columns: typeof columns === 'string' ? [columns] : columns, match: 'equals', schema };
}

/** Records with one of several values. */
export function anyOf(column: string, description: string, options: { examples?: string[] } = {}): Filter {
  return { columns: [column], match: 'any_of', schema: text({ minLength: 1, description, ...options }) };
}

/** Compares the digits of phone numbers. The columns hold `phoneColumn`. */
export function byPhone(columns: readonly string[], description: string): Filter {
  return { columns, match: 'equals', schema: text({ minLength: 1, description }), stored: phoneDigits };
}

/** A phone number as a column that is compared with others. */
export function phoneColumn(phone: string | null): string | null {
  return phoneDigits(phone ?? '') || null;
}

/** The filter `status` of lists whose records can be inactive. */
export const byStatus = {
  columns: ['status'],
  match: 'equals',
  schema: choices(
    { active: 'Only records in use', inactive: 'Only records no longer in use', all: 'Both' },
    { default: 'all', description: 'Which records to return' },
  ),
  any: 'all',
} as const satisfies Filter;

export function containsName(column: string, options: { examples?: string[] } = {}): Filter {
  const description = 'Part of the name, ignoring case, accents, apostrophes and hyphens';
  return { columns: [column], match: 'contains', schema: text({ minLength: 1, description, ...options }) };
}

/** The filters `start_date` and `end_date`, both inclusive. */
export function dayRange(column: string, label: string, options: { local?: true } = {}) {
  const { start_date, end_date } = requiredDays(label);
  const [from, to] = options.local ? (['from_local_day', 'to_local_day'] as const) : (['from_day', 'to_day'] as const);
  return {
    start_date: { columns: [column], match: from, schema: start_date },
    end_date: { columns: [column], match: to, schema: end_date },
  } satisfies Record<string, Filter>;
}

/** The path of the kind's list endpoint, and the prefix of its other paths. */
export function toListPath(kind: { name: string }): string {
  return `/v1/${kind.name.replaceAll('_', '-')}`;
}
