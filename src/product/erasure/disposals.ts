import { apiError } from '../../catalog/errors.ts';
import { csvLine } from '../../platform/csv.ts';
import type { Query } from '../../platform/db/database.ts';
import { type ClientScope, inScope } from '../../platform/db/fragments.ts';

/** Why rows were deleted: the period of a setting, a client's own period, or an erasure. */
export const disposal_rules = [
  'setting',
  'client_period',
  'erase_client',
  'erase_organization',
  'erase_patient',
] as const;
export type DisposalRule = (typeof disposal_rules)[number];

/** What was deleted of a client on one day (UTC). `data`: a kind of retained data, or the table of an erasure. */
export type Disposal = {
  client_id: string;
  day: string;
  data: string;
  rule: DisposalRule;
  /** The period; null for an erasure. */
  days: number | null;
  rows: number;
  first_at: string;
  last_at: string;
};

/** Adds deleted rows to the report, in the transaction that deletes them. */
export async function recordDisposals(
  sql: Query,
  client: { id: string; public_id: string },
  disposals: readonly { data: string; rule: DisposalRule; days?: number; rows: number }[],
): Promise<void> {
  const values = disposals.filter(({ rows }) => rows > 0).map((each) => ({ days: 0, ...each }));
  if (values.length === 0) return;
  await sql`
    INSERT INTO disposals AS present (client_id, client, day, data, rule, days, rows)
    SELECT ${client.id}, ${client.public_id}, (now() AT TIME ZONE 'UTC')::date, data, rule, days, rows
      FROM json_to_recordset(${JSON.stringify(values)}::text::json) AS entry (data text, rule text, days integer, rows bigint)
    ON CONFLICT (client_id, day, data, rule, days) DO UPDATE SET rows = present.rows + excluded.rows, last_at = now()`;
}

/** The days that a report is about, as dates (UTC), inclusive. */
export type ReportPeriod = { since?: string | undefined; until?: string | undefined };

/** Throws if a date does not exist, or the period ends before it starts. */
export function checkReportPeriod({ since, until }: ReportPeriod): void {
  for (const [field, date] of Object.entries({ since, until })) {
    if (date === undefined) continue;
    const time = Date.parse(`${date}T00:00:00Z`);
    if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== date) {
      throw apiError('invalid_field', { rule: `${field} must be a date such as 2031-03-03` }, { field });
    }
  }
  if (since !== undefined && until !== undefined && until < since) {
    throw apiError('invalid_field', { rule: 'until must not be before since' }, { field: 'until' });
  }
}

/** The report, newest day first. A client that was erased is still part of it, for those who may see all clients. */
export function listDisposals(
  sql: Query,
  scope: ClientScope,
  { since, until }: ReportPeriod = {},
  limit = 10_000,
): Promise<Disposal[]> {
  return sql<Disposal[]>`
    SELECT client AS client_id, to_char(day, 'YYYY-MM-DD') AS day, data, rule, nullif(days, 0) AS days,
           rows::float8 AS rows, iso(first_at) AS first_at, iso(last_at) AS last_at
      FROM disposals
     WHERE ${inScope(sql, sql`client_id`, scope)} AND day >= coalesce(${since ?? null}::date, '-infinity')
       AND day <= coalesce(${until ?? null}::date, 'infinity')
     ORDER BY disposals.day DESC, client, data, rule, days LIMIT ${limit}`;
}

const columns = ['day', 'client_id', 'data', 'rule', 'days', 'rows', 'first_at', 'last_at'] as const;

export function formatDisposals(disposals: readonly Disposal[]): string {
  const lines = disposals.map((each) => csvLine(columns.map((name) => String(each[name] ?? ''))));
  return [csvLine(columns), ...lines].join('');
}
