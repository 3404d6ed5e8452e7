import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { csvLine } from '../../platform/csv.ts';
import type { Context } from '../context.ts';
import {
  type AuditFault,
  type AuditRow,
  createStamp,
  type ExportedRow,
  type ExportRange,
  lastPosition,
  type Place,
  readChainRange,
  readUnchainedRange,
} from './auditRecords.ts';
import { computeLink, type Head } from './seals.ts';
import { faults_max } from './verification.ts';

export const export_formats = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof export_formats)[number];

/** The fields of an exported record, in this order. All that its MAC covers are among them, with their stored values. */
const fields = [
  ...['position', 'id', 'at', 'client', 'client_id', 'actor_kind', 'actor', 'account', 'account_id'],
  ...['action', 'outcome', 'request_id', 'job_id', 'subject', 'patients', 'detail', 'address'],
  ...['follows', 'mac', 'chain'],
] as const;

const first_id = '0'.repeat(32);

/**
 * Yields the records of a range as text, batch by batch, with the number of records in each: first those in the chain,
 * in its order, then those that are too new for it. A record that joins the chain meanwhile appears once.
 */
export async function* exportChain(
  { db }: Pick<Context, 'db'>,
  range: ExportRange,
  format: ExportFormat,
  batch = 1_000,
): AsyncGenerator<{ text: string; records: number }> {
  const sql = db.system.pooled;
  const up_to = await lastPosition(sql);
  if (format === 'csv') yield { text: csvLine(fields), records: 0 };
  const write = format === 'csv' ? toCsv : toJson;
  const part = (rows: readonly ExportedRow[]) => ({ text: rows.map(write).join(''), records: rows.length });
  for (let after: Place | undefined = { position: 0, id: first_id }; after !== undefined; ) {
    const rows = await readChainRange(sql, range, { after, up_to, limit: batch });
    yield part(rows);
    const last = rows.at(-1);
    after = last && rows.length === batch ? { position: last.position ?? 0, id: last.id } : undefined;
  }
  for (let after: string | undefined = first_id; after !== undefined; ) {
    const rows = await readUnchainedRange(sql, range, { after, beyond: up_to, limit: batch });
    yield part(rows);
    after = rows.length < batch ? undefined : rows.at(-1)?.id;
  }
}

/** A line of an export in JSON. */
export type ExportLine = Omit<AuditRow, 'at' | 'detail' | 'mac'> & {
  position: number | null;
  client: string | null;
  account: string | null;
  at: string;
  detail: unknown;
  mac: string;
  chain: string | null;
};

function toLine({ at, detail, mac, chain, ...row }: ExportedRow): ExportLine {
  return {
    ...row,
    at: at.toISOString(),
    detail: detail === null ? null : JSON.parse(detail),
    mac: mac.toString('hex'),
    chain: chain?.toString('hex') ?? null,
  };
}

/** A record as a line of JSON, as exported and as sent to a collector. */
export function toJson(row: ExportedRow): string {
  const line: Record<string, unknown> = toLine(row);
  return `${JSON.stringify(Object.fromEntries(fields.map((name) => [name, line[name]])))}\n`;
}

function toCsv(row: ExportedRow): string {
  const line: Record<string, unknown> = toLine(row);
  return csvLine(fields.map((name) => fieldText(line[name])));
}

function fieldText(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** `gaps` counts the records whose predecessor is not on the line before, as in the export of one client. */
export type ExportVerdict = { ok: boolean; checked: number; unsealed: number; gaps: number; faults: ExportFault[] };
export type ExportFault = Omit<AuditFault, 'what'> & { what: 'changed' | 'not_linked' | 'unreadable' };

/**
 * Recomputes the MAC of every line of a JSON export, and the link of every record whose predecessor is on the previous
 * line. Needs the keys of the installation, but not its audit log.
 */
export async function verifyExport(ctx: Pick<Context, 'system_keys'>, lines: Readable): Promise<ExportVerdict> {
  const { isGenuine } = createStamp(ctx.system_keys);
  const key = ctx.system_keys.key('audit.chain');
  const faults: ExportFault[] = [];
  let [checked, unsealed, gaps, fault_count] = [0, 0, 0, 0];
  const fault = (what: ExportFault['what'], position: number | null, id: string | null) => {
    fault_count += 1;
    if (faults.length < faults_max) faults.push({ position, id, what });
  };
  let before: Head = { position: 0, chain: Buffer.alloc(0) };
  for await (const text of createInterface({ input: lines, crlfDelay: Number.POSITIVE_INFINITY })) {
    checked += 1;
    // Syslog marks a message in UTF-8 so, and some servers store the mark, or the space before the message.
    const row = readLine(text.replace(/^[\uFEFF ]+/, ''));
    if (!row) {
      fault('unreadable', null, null);
      continue;
    }
    const { position, id, chain } = row;
    if (!isGenuine(row)) fault('changed', position, id);
    if (position === null) {
      unsealed += 1;
      continue;
    }
    if (position <= 0 || chain === null) {
      fault('not_linked', position, id);
      continue;
    }
    if (position !== before.position + 1) gaps += 1;
    else if (!chain.equals(computeLink(key, before, row.mac).chain)) fault('not_linked', position, id);
    before = { position, chain };
  }
  return { ok: fault_count === 0, checked, unsealed, gaps, faults };
}

/** Fields of the wrong type fail the check of the MAC. */
function readLine(text: string) {
  try {
    const { at, detail, mac, chain, ...row }: ExportLine = JSON.parse(text);
    return {
      ...row,
      at: new Date(at),
      detail: detail === null ? null : JSON.stringify(detail),
      mac: Buffer.from(mac, 'hex'),
      chain: chain === null ? null : Buffer.from(chain, 'hex'),
    };
  } catch {
    return undefined;
  }
}
