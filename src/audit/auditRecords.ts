import type { Fragment, Sql, Tx } from '../db/database.ts';
import type { AuditRow } from './stamp.ts';

/** A record with its place in the chain. */
export type SealedRow = AuditRow & { position: number; chain: Buffer };

export type Link = { id: string; position: number; chain: Buffer };

/** Adds records in one statement, which is the same one for any number of them. */
export function insertRecords(sql: Sql | Tx, rows: readonly AuditRow[], condition: Fragment = sql`true`): Fragment {
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
export function findUnsealed(sql: Sql | Tx, limit: number): Promise<{ id: string; mac: Buffer }[]> {
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
export function readChain(sql: Sql, range: { after: number; up_to: number; limit: number }): Promise<SealedRow[]> {
  return sql<SealedRow[]>`SELECT ${whole(sql)}, position, chain FROM audit_records
    WHERE position > ${range.after} AND position <= ${range.up_to} ORDER BY position LIMIT ${range.limit}`;
}

/** The next records that have no place in the chain, by id. */
export function readUnsealed(sql: Sql, after: string, limit: number): Promise<AuditRow[]> {
  return sql<AuditRow[]>`SELECT ${whole(sql)} FROM audit_records
    WHERE position IS NULL AND id > ${after} ORDER BY id LIMIT ${limit}`;
}

/** How many records there are about, for somebody who waits for all of them to be read. */
export async function lastPosition(sql: Sql | Tx): Promise<number> {
  const [row] = await sql<{ last: number | null }[]>`SELECT max(position) AS last FROM audit_records`;
  return row?.last ?? 0;
}

/** Every column that the mac covers, and the mac. */
function whole(sql: Sql): Fragment {
  return sql`id, at, client_id, actor_kind, actor, account_id, action, outcome, request_id, job_id, subject,
    patients::text[] AS patients, detail::text AS detail, mac`;
}
