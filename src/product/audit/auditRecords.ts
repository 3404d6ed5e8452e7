import { createHmac } from 'node:crypto';
import { firstIdAt, newId, timeOfId } from '../../catalog/ids.ts';
import type { Fragment, Query, Row, Statement, Tx } from '../../platform/db/database.ts';
import type { SystemKeys } from '../../platform/security/masterKeys.ts';
import type { AuditEntry } from '../context.ts';

/** What can be wrong with the audit log. */
export const fault_kinds = [
  'changed',
  'not_linked',
  'missing',
  'beyond_head',
  'head_broken',
  'rolled_back',
  'anchor_mismatch',
  'anchor_changed',
  'trigger',
] as const;

/** `id`: of the record; for `trigger`, its name. */
export type AuditFault = { position: number | null; id: string | null; what: (typeof fault_kinds)[number] };

/** A record with its position in the chain. */
export type SealedRow = AuditRow & { position: number; chain: Buffer };

export type Link = { id: string; position: number; chain: Buffer };

/** Inserts records, and throws unless all of them were stored: a trigger or a rule can drop rows without an error. */
export async function storeRecords(sql: Query, rows: readonly NewAuditRow[]): Promise<void> {
  const { count } = await insertRecords(sql, rows);
  if (count !== rows.length) throw new Error(`${count} of ${rows.length} audit records were stored.`);
}

/** Inserts records with a statement whose text does not depend on their number. */
export function insertRecords(
  sql: Query,
  rows: readonly NewAuditRow[],
  condition: Fragment = sql`true`,
): Statement<Row[]> {
  return sql`
    INSERT INTO audit_records (id, at, client_id, actor_kind, actor, account_id, action, outcome, request_id, job_id,
                               subject, patients, detail, address, follows, mac)
    SELECT id, at, client_id, actor_kind, actor, account_id, action, outcome, request_id, job_id, subject, patients,
           detail::json, address, follows, decode(mac, 'hex')
      FROM json_to_recordset(${JSON.stringify(rows)}::text::json) AS entry (id uuid, at timestamptz, client_id uuid,
             actor_kind text, actor text, account_id uuid, action text, outcome text, request_id uuid, job_id bigint,
             subject text, patients bigint[], detail text, address text, follows uuid[], mac text)
     WHERE ${condition}`;
}

/** The newest records that are not part of the chain yet. */
export function readNewest(sql: Query, limit: number): Promise<AuditRow[]> {
  return sql<AuditRow[]>`SELECT ${coveredColumns(sql)} FROM audit_records
    WHERE position IS NULL ORDER BY id DESC LIMIT ${limit}`;
}

/** Records that are not part of the chain yet, oldest first. */
export function findUnsealed(sql: Query, limit: number): Promise<{ id: string; mac: Buffer }[]> {
  return sql<{ id: string; mac: Buffer }[]>`
    SELECT id, mac FROM audit_records WHERE position IS NULL ORDER BY id LIMIT ${limit}`;
}

/** Throws if one of them was deleted meanwhile: then nothing is linked, and the next attempt starts without it. */
export async function linkRecords(tx: Tx, links: readonly Link[]): Promise<void> {
  const values = links.map((link) => ({ ...link, chain: link.chain.toString('hex') }));
  const { count } = await tx`
    UPDATE audit_records SET position = link.position, chain = decode(link.chain, 'hex')
      FROM json_to_recordset(${JSON.stringify(values)}::text::json) AS link (id uuid, position bigint, chain text)
     WHERE audit_records.id = link.id`;
  if (count !== links.length) throw new Error(`${count} of ${links.length} audit records were linked.`);
}

/** A place in the chain. The id too, because whoever owns the table can give two records the same position. */
export type Place = { position: number; id: string };

/** The next records of the chain, in order. */
export function readChain(sql: Query, range: { after: Place; up_to: number; limit: number }): Promise<SealedRow[]> {
  return sql<SealedRow[]>`SELECT ${coveredColumns(sql)}, position, chain FROM audit_records
    WHERE ${inChain(sql, range)} ORDER BY position, id LIMIT ${range.limit}`;
}

/** Records that are neither part of the chain nor new: someone moved them there. */
export function readMisplaced(sql: Query, limit: number): Promise<SealedRow[]> {
  return sql<SealedRow[]>`SELECT ${coveredColumns(sql)}, position, chain FROM audit_records
    WHERE position <= 0 ORDER BY position, id LIMIT ${limit}`;
}

/** The next records that are not part of the chain yet, by id. */
export function readUnsealed(sql: Query, after: string, limit: number): Promise<AuditRow[]> {
  return sql<AuditRow[]>`SELECT ${coveredColumns(sql)} FROM audit_records
    WHERE position IS NULL AND id > ${after} ORDER BY id LIMIT ${limit}`;
}

/** Which records an export contains. Times are compared with the records' ids, which contain theirs. */
export type ExportRange = { since?: Date | undefined; until: Date; client_id?: string | undefined };

/** A record as exported: everything that its MAC covers, and the public ids of client and account. */
export type ExportedRow = AuditRow & {
  position: number | null;
  chain: Buffer | null;
  client: string | null;
  account: string | null;
};

/** The next records of the chain within a range, in order. */
export function readChainRange(
  sql: Query,
  range: ExportRange,
  chain: { after: Place; up_to: number; limit: number },
): Promise<ExportedRow[]> {
  return sql<ExportedRow[]>`SELECT ${exportedColumns(sql)} FROM audit_records
    WHERE ${inChain(sql, chain)} AND ${within(sql, range)} ORDER BY position, id LIMIT ${chain.limit}`;
}

/** The next records within a range that were not part of the chain when it ended at `beyond`, by id. */
export function readUnchainedRange(
  sql: Query,
  range: ExportRange,
  { after, beyond, limit }: { after: string; beyond: number; limit: number },
): Promise<ExportedRow[]> {
  return sql<ExportedRow[]>`SELECT ${exportedColumns(sql)} FROM audit_records
    WHERE (position IS NULL OR position > ${beyond} OR position <= 0) AND id > ${after} AND ${within(sql, range)}
    ORDER BY id LIMIT ${limit}`;
}

/** The links at these positions. */
export function findLinks(
  sql: Query,
  positions: readonly number[],
): Promise<{ position: number; chain: Buffer | null }[]> {
  return sql<{ position: number; chain: Buffer | null }[]>`
    SELECT position, chain FROM audit_records WHERE position = ANY (${positions}::bigint[])`;
}

/** Which of these records exist, and which of them are part of the chain. */
export function findStates(sql: Query, ids: readonly string[]): Promise<{ id: string; sealed: boolean }[]> {
  return sql<{ id: string; sealed: boolean }[]>`
    SELECT id, coalesce(position > 0, false) AS sealed FROM audit_records WHERE id = ANY (${[...ids]}::uuid[])`;
}

/** Those of these records that exist. */
export async function readRecords(
  sql: Query,
  ids: readonly string[],
): Promise<(AuditRow & Pick<ExportedRow, 'position'>)[]> {
  if (ids.length === 0) return [];
  return sql<(AuditRow & Pick<ExportedRow, 'position'>)[]>`
    SELECT ${coveredColumns(sql)}, position FROM audit_records WHERE id = ANY (${[...ids]}::uuid[]) ORDER BY id`;
}

/** Clocks of several processes differ by less. */
const clock_tolerance_ms = 60_000;

/**
 * The newest record of the service or the command line with one of these actions, with everything that its MAC covers:
 * anyone who can write to the table can add one. Without those of the future, which would be the newest for a long time,
 * and of verified exports, which say nothing about the log.
 */
export async function findLastRecord(
  sql: Query,
  { actions, actor }: { actions: readonly string[]; actor?: string },
): Promise<AuditRow | undefined> {
  const by = actor === undefined ? sql`true` : sql`actor = ${actor}`;
  // The newest of each is found by its index.
  const [row] = await sql<AuditRow[]>`
    SELECT last.* FROM unnest(${[...actions]}::text[]) AS kind (action)
      CROSS JOIN LATERAL (SELECT ${coveredColumns(sql)} FROM audit_records
        WHERE action = kind.action AND actor_kind = 'system' AND ${by} AND detail ->> 'export' IS NULL
          AND id < ${firstIdAt(new Date(Date.now() + clock_tolerance_ms))}
        ORDER BY id DESC LIMIT 1) AS last
     ORDER BY last.id DESC LIMIT 1`;
  return row;
}

/** The position of the last sealed record. At most one that is exact as a number: a forged one may not be. */
export async function lastPosition(sql: Query): Promise<number> {
  const [row] = await sql<{ last: number | null }[]>`SELECT max(position) AS last FROM audit_records`;
  return Math.min(row?.last ?? 0, Number.MAX_SAFE_INTEGER);
}

function inChain(sql: Query, { after, up_to }: { after: Place; up_to: number }): Fragment {
  return sql`position > 0 AND position <= ${up_to} AND (position, id) > (${after.position}, ${after.id}::uuid)`;
}

/** Every column covered by the MAC, and the MAC. */
function coveredColumns(sql: Query): Fragment {
  return sql`id, at, client_id, actor_kind, actor, account_id, action, outcome, request_id, job_id, subject,
    patients::text[] AS patients, detail::text AS detail, address, follows, mac`;
}

function exportedColumns(sql: Query): Fragment {
  return sql`${coveredColumns(sql)}, position, chain,
    (SELECT public_id FROM clients WHERE clients.id = audit_records.client_id) AS client,
    (SELECT reference_id FROM accounts WHERE accounts.id = audit_records.account_id) AS account`;
}

function within(sql: Query, { since, until, client_id }: ExportRange): Fragment {
  const from = since === undefined ? sql`true` : sql`id >= ${firstIdAt(since)}`;
  const of_client = client_id === undefined ? sql`true` : sql`client_id = ${client_id}`;
  return sql`${from} AND id < ${firstIdAt(until)} AND ${of_client}`;
}

/** A record as stored, except for its position in the chain. */
export type AuditRow = Required<
  Omit<AuditEntry, 'mrns' | 'detail' | 'account_id' | 'request_id' | 'address' | 'job_id' | 'subject'>
> & {
  id: string;
  at: Date;
  account_id: string | null;
  request_id: string | null;
  job_id: number | null;
  subject: string | null;
  /** Patient marks as decimal digits: JavaScript numbers cannot represent 64 bits. */
  patients: string[];
  /** The exact JSON text. */
  detail: string | null;
  address: string | null;
  /** Records that the same process stored before (followedRecords.ts). */
  follows: string[] | null;
  mac: Buffer;
};

/** What the MAC covers. */
type Covered = Omit<AuditRow, 'mac'>;

/** A new record, with its MAC as the statement that inserts it takes it: hexadecimal. */
export type NewAuditRow = Covered & { mac: string };

export type Stamp = {
  /** Turns an entry into a record with id, time, patient marks, the records that it follows, and a MAC over all of it. */
  stamp(entry: AuditEntry, follow?: (id: string) => string[]): NewAuditRow;
  /** Whether a record is unchanged since it was created. */
  isGenuine(row: AuditRow): boolean;
  /** The mark that identifies a client's patient in records. */
  mark(client_id: string, mrn: string): string;
};

export function createStamp(keys: Pick<SystemKeys, 'key'>): Stamp {
  const record_key = keys.key('audit.records');
  const computeMac = (row: Covered) => createHmac('sha256', record_key).update(canonical(row));
  const markPatients = createMarker(keys.key('audit.patients'));
  return {
    mark: (client_id, mrn) => markPatients(client_id, [mrn])[0] ?? '',
    isGenuine: (row) => computeMac(row).digest().equals(row.mac),
    stamp: (entry, follow) => {
      const id = newId();
      const { client_id, mrns = [], detail } = entry;
      const patients = client_id === null ? [] : markPatients(client_id, mrns instanceof Set ? mrns : new Set(mrns));
      const follows = follow?.(id) ?? [];
      const row: NewAuditRow = {
        id,
        // Taken from the id, so that the two always agree.
        at: new Date(timeOfId(id)),
        client_id,
        actor_kind: entry.actor_kind,
        actor: entry.actor,
        account_id: entry.account_id ?? null,
        action: entry.action,
        outcome: entry.outcome,
        request_id: entry.request_id ?? null,
        job_id: entry.job_id ?? null,
        subject: entry.subject ?? null,
        patients: patients.sort(),
        detail: detail === undefined ? null : JSON.stringify(detail),
        address: entry.address ?? null,
        follows: follows.length === 0 ? null : follows,
        mac: '',
      };
      row.mac = computeMac(row).digest('hex');
      return row;
    },
  };
}

/**
 * The canonical text of a record. A JSON array leaves no ambiguity about where a field ends. An address or followed
 * records that a record does not have are left out. The address is a string and the followed records are an array, so
 * that one is not taken for the other.
 */
function canonical(row: Covered): string {
  return JSON.stringify([
    row.id,
    row.at.getTime(),
    row.client_id,
    row.actor_kind,
    row.actor,
    row.account_id,
    row.action,
    row.outcome,
    row.request_id,
    row.job_id,
    row.subject,
    row.patients,
    row.detail,
    ...(row.address === null ? [] : [row.address]),
    ...(row.follows ? [row.follows] : []),
  ]);
}

/** Cached marks. Computing a mark takes 5 µs, a cache hit 0.5 µs, and a list page has a hundred of them. */
const marks_max = 50_000;

/** The first 64 bits of a keyed hash: practically free of collisions within a client, and irreversible without the key. */
function createMarker(key: Buffer): (client_id: string, mrns: Iterable<string>) => string[] {
  let cache = new Map<string, Map<string, string>>();
  let count = 0;
  const compute = (client_id: string, mrn: string) =>
    createHmac('sha256', key).update(`${client_id}|${mrn}`).digest().readBigInt64BE(0).toString();
  return (client_id, mrns) => {
    if (count >= marks_max) {
      cache = new Map();
      count = 0;
    }
    const of_client = cache.get(client_id) ?? new Map<string, string>();
    cache.set(client_id, of_client);
    const marks: string[] = [];
    for (const mrn of mrns) {
      let mark = of_client.get(mrn);
      if (mark === undefined) {
        mark = compute(client_id, mrn);
        of_client.set(mrn, mark);
        count += 1;
      }
      marks.push(mark);
    }
    return marks;
  };
}
