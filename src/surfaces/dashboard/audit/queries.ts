import { firstIdAt } from '../../../catalog/ids.ts';
import { csvLine } from '../../../platform/csv.ts';
import type { Query } from '../../../platform/db/database.ts';
import { type ClientScope, inScope } from '../../../platform/db/fragments.ts';
import { parseDateTime } from '../../../platform/time/days.ts';
import { createStamp } from '../../../product/audit/auditRecords.ts';
import type { Context } from '../../../product/context.ts';
import type { AuditRecord, AuditSearch } from './schema.ts';

/** A page of the audit log of these clients, newest first. */
export async function listAudit(
  ctx: Pick<Context, 'db' | 'system_keys'>,
  scope: ClientScope,
  { client_id, patient_mrn, page_size = 50, ...search }: AuditSearch & { not_read_by?: string | undefined },
): Promise<{ rows: AuditRecord[]; next: string | null }> {
  const clients = await ctx.db.system<{ id: string }[]>`SELECT id FROM clients
    ${client_id === undefined ? ctx.db.system`` : ctx.db.system`WHERE public_id = ${client_id}`}`;
  const [only] = clients;
  if (client_id !== undefined && !only) return { rows: [], next: null };
  const matches = await findRecords(ctx.db.system.pooled, {
    ...search,
    client_id: client_id === undefined ? undefined : only?.id,
    patients: patient_mrn === undefined ? undefined : computeMarks(ctx, clients, patient_mrn),
    scope,
    limit: page_size + 1,
  });
  const rows = matches.slice(0, page_size);
  return { rows, next: matches.length > page_size ? (rows.at(-1)?.id ?? null) : null };
}

const columns = [
  'at',
  'client_id',
  'client_name',
  'actor_kind',
  'actor',
  'account',
  'action',
  'outcome',
  'request_id',
  'job_id',
  'subject',
  'patients',
  'detail',
  'address',
  'position',
  'id',
] as const satisfies (keyof AuditRecord)[];

/** Yields the records of a search as CSV text, newest first, page by page. */
export async function* exportAudit(
  ctx: Pick<Context, 'db' | 'system_keys'>,
  scope: ClientScope,
  search: Omit<AuditSearch, 'before' | 'page_size'>,
  page_size = 1_000,
): AsyncGenerator<string> {
  yield csvLine(columns);
  for (let before: string | null | undefined; before !== null; ) {
    const page = await listAudit(ctx, scope, { ...search, page_size, ...(before && { before }) });
    yield page.rows.map((record) => csvLine(columns.map((name) => toText(record[name])))).join('');
    before = page.next;
  }
}

/** Search criteria. Without client_id, records of all clients in the scope match. */
type AuditQuery = Omit<AuditSearch, 'client_id' | 'patient_mrn' | 'page_size' | 'own_reading'> & {
  client_id?: string | undefined;
  /** Patient marks, one for each client that may have the patient. */
  patients?: string[] | undefined;
  /** Without this operator's reading of the audit log. */
  not_read_by?: string | undefined;
  scope: ClientScope;
  limit: number;
};

/** Records, newest first. Ids contain the time, so days are ranges of ids. */
export function findRecords(sql: Query, query: AuditQuery): Promise<AuditRecord[]> {
  const { client_id, actor_kind, actor, action, from, to, before, patients, not_read_by, scope, limit } = query;
  const conditions = [
    inScope(sql, sql`record.client_id`, scope),
    client_id === undefined ? undefined : sql`record.client_id = ${client_id}`,
    actor_kind === undefined ? undefined : sql`actor_kind = ${actor_kind}`,
    actor === undefined ? undefined : sql`actor = ${actor}`,
    action === undefined ? undefined : sql`action = ${action}`,
    from === undefined ? undefined : sql`record.id >= ${firstIdAt(parseDateTime(from))}`,
    to === undefined ? undefined : sql`record.id < ${firstIdAt(parseDateTime(to))}`,
    before === undefined ? undefined : sql`record.id < ${before}`,
    not_read_by === undefined
      ? undefined
      : sql`NOT (actor_kind = 'operator' AND actor = ${not_read_by} AND action = ANY (${[...list_actions]}))`,
    // OFFSET 0: without it the planner scans all records from the newest to find the few of one patient.
    patients === undefined
      ? undefined
      : sql`record.id IN (SELECT id FROM audit_records WHERE patients && ${patients}::bigint[] OFFSET 0)`,
  ].filter((each) => each !== undefined);
  return sql<AuditRecord[]>`
    SELECT record.id, iso(at) AS at, clients.public_id AS client_id, clients.name AS client_name, actor_kind, actor,
           accounts.reference_id AS account, action, outcome, request_id, job_id, subject,
           cardinality(patients) AS patients, detail, address, position
      FROM audit_records AS record LEFT JOIN clients ON clients.id = record.client_id
           LEFT JOIN accounts ON accounts.id = record.account_id
     WHERE ${conditions.reduce((all, each) => sql`${all} AND ${each}`, sql`true`)}
     ORDER BY record.id DESC LIMIT ${limit}`;
}

/** The endpoints of the list. */
const list_actions = ['dashboard.audit.list', 'dashboard.audit.search'] as const;

/** The names of the operators among the actors, by email address. */
export async function findActorNames(
  ctx: Pick<Context, 'db'>,
  records: readonly Pick<AuditRecord, 'actor_kind' | 'actor'>[],
): Promise<ReadonlyMap<string, string>> {
  const emails = new Set(records.flatMap(({ actor_kind, actor }) => (actor_kind === 'operator' ? [actor] : [])));
  const rows = await ctx.db.system.pooled<{ email: string; name: string }[]>`
    SELECT email, name FROM operators WHERE email = ANY (${[...emails]})`;
  return new Map(rows.map(({ email, name }) => [email, name]));
}

/** A mark is derived from client and MRN, so a search by MRN alone needs one mark per client. */
function computeMarks(ctx: Pick<Context, 'system_keys'>, clients: readonly { id: string }[], mrn: string): string[] {
  const { mark } = createStamp(ctx.system_keys);
  return clients.map(({ id }) => mark(id, mrn));
}

function toText(value: AuditRecord[keyof AuditRecord]): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
