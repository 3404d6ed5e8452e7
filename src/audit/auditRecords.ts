import type { Fragment, Query, Row, Statement, Tx } from '../db/database.ts';
import type { AuditRecord, AuditSearch } from '../model/dashboard/audit.ts';
import type { AuditRow } from './stamp.ts';

/** A record with its place in the chain. */
export type SealedRow = AuditRow & { position: number; chain: Buffer };

export type Link = { id: string; position: number; chain: Buffer };

/** Adds records in one statement, which is the same one for any number of them. */
export function insertRecords(
  sql: Query,
  rows: readonly AuditRow[],
  condition: Fragment = sql`true`,
): Statement<Row[]> {
  const told = rows.map((row) => ({ ...row, mac: row.mac.toString('hex') }));
  return sql`
    INSERT INTO audit_records (id, at, client_id, actor_kind, actor, account_id, action, outcome, request_id, job_id,
                               subject, patients, detail, mac)
    SELECT id, at, client_id, actor_kind, actor, account_id, action, outcome, request_id, job_id, subject, patients,
           detail::json, decode(mac, 'hex')
      FROM json_to_recordset(${JSON.stringify(told)}::text::json) AS told (id uuid, at timestamptz, client_id uuid,
             actor_kind text, actor text, account_id uuid, action text, outcome text, request_id uuid, job_id bigint,
             subject text, patients bigint[], detail text, mac text)
     WHERE ${condition}`;
}

/** Records that have no place in the chain yet, oldest first. */
export function findUnsealed(sql: Query, limit: number): Promise<{ id: string; mac: Buffer }[]> {
  return sql<{ id: string; mac: Buffer }[]>`
    SELECT id, mac FROM audit_records WHERE position IS NULL ORDER BY id LIMIT ${limit}`;
}

export async function linkRecords(tx: Tx, links: readonly Link[]): Promise<void> {
  const told = links.map((link) => ({ ...link, chain: link.chain.toString('hex') }));
  await tx`
    UPDATE audit_records SET position = told.position, chain = decode(told.chain, 'hex')
      FROM json_to_recordset(${JSON.stringify(told)}::text::json) AS told (id uuid, position bigint, chain text)
     WHERE audit_records.id = told.id`;
}

/** The next records of the chain, in its order. */
export function readChain(sql: Query, range: { after: number; up_to: number; limit: number }): Promise<SealedRow[]> {
  return sql<SealedRow[]>`SELECT ${whole(sql)}, position, chain FROM audit_records
    WHERE position > ${range.after} AND position <= ${range.up_to} ORDER BY position LIMIT ${range.limit}`;
}

/** The next records that have no place in the chain, by id. */
export function readUnsealed(sql: Query, after: string, limit: number): Promise<AuditRow[]> {
  return sql<AuditRow[]>`SELECT ${whole(sql)} FROM audit_records
    WHERE position IS NULL AND id > ${after} ORDER BY id LIMIT ${limit}`;
}

/** How many records there are about, for somebody who waits for all of them to be read. */
export async function lastPosition(sql: Query): Promise<number> {
  const [row] = await sql<{ last: number | null }[]>`SELECT max(position) AS last FROM audit_records`;
  return row?.last ?? 0;
}

/** What records are looked for by. The clients are all there are, or the one that was asked for. */
export type AuditQuery = Omit<AuditSearch, 'client_id' | 'patient_mrn' | 'page_size'> & {
  client_id?: string | undefined;
  /** Marks of the patient, one for each client who may have such a patient. */
  patients?: string[] | undefined;
  limit: number;
};

/** Records as the dashboard shows them, newest first. Ids hold the time, so days are ranges of ids. */
export function findRecords(sql: Query, query: AuditQuery): Promise<AuditRecord[]> {
  const { client_id, actor_kind, actor, action, from, to, before, patients, limit } = query;
  const asked = [
    client_id === undefined ? undefined : sql`record.client_id = ${client_id}`,
    actor_kind === undefined ? undefined : sql`actor_kind = ${actor_kind}`,
    actor === undefined ? undefined : sql`actor = ${actor}`,
    action === undefined ? undefined : sql`action = ${action}`,
    from === undefined ? undefined : sql`record.id >= ${firstIdOf(from)}`,
    to === undefined ? undefined : sql`record.id < ${firstIdOf(to)}`,
    before === undefined ? undefined : sql`record.id < ${before}`,
    // OFFSET 0: by itself the planner walks all records from the newest, to find the few of one patient.
    patients === undefined
      ? undefined
      : sql`record.id IN (SELECT id FROM audit_records WHERE patients && ${patients}::bigint[] OFFSET 0)`,
  ].filter((each) => each !== undefined);
  return sql<AuditRecord[]>`
    SELECT record.id, iso(at) AS at, clients.public_id AS client_id, clients.name AS client_name, actor_kind, actor,
           accounts.reference_id AS account, action, outcome, request_id, job_id, subject,
           cardinality(patients) AS patients, detail, position
      FROM audit_records AS record LEFT JOIN clients ON clients.id = record.client_id
           LEFT JOIN accounts ON accounts.id = record.account_id
     WHERE ${asked.reduce((all, each) => sql`${all} AND ${each}`, sql`true`)}
     ORDER BY record.id DESC LIMIT ${limit}`;
}

/** No id of this moment or a later one is smaller. */
function firstIdOf(moment: string): string {
  return Date.parse(moment).toString(16).padStart(12, '0').padEnd(32, '0');
}

/** Every column that the mac covers, and the mac. */
function whole(sql: Query): Fragment {
  return sql`id, at, client_id, actor_kind, actor, account_id, action, outcome, request_id, job_id, subject,
    patients::text[] AS patients, detail::text AS detail, mac`;
}
