import { readFile } from 'node:fs/promises';
import type { Sql } from '../../../src/db/database.ts';

/** A write that the service acknowledged with 200. `token` is a text that only this write contains. */
export type Acknowledged = { token: string; kind: string; job_id: string | null; operation_id: string | null };

/** A webhook that a receiver got. `valid`: the signature and the timestamp were right. */
export type Received = {
  url: string;
  webhook_id: string;
  attempt: number;
  status: number | null;
  valid: boolean;
  body_sha256: string;
};

/** A write that the EMR received, in the order in which it applied them. */
export type LedgerEntry = {
  operation: string;
  marker: string | null;
  patient_mrn: string | null;
  at: string;
  applied: boolean;
};

/** Everything the invariants are checked against: the database, the EMR's ledger, and what clients and receivers wrote down. */
export type Evidence = {
  /** A connection that sees all tenants. */
  sql: Sql;
  acknowledged: readonly Acknowledged[];
  received: readonly Received[];
  ledger: readonly LedgerEntry[];
};

/** Reads a file with one JSON value per line. A process that was killed may have left the last line incomplete. */
export async function readLines<T>(file: string): Promise<T[]> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

export async function readLedger(emr_url: string, control_token: string): Promise<LedgerEntry[]> {
  const response = await fetch(`${emr_url}/control/ledger`, { headers: { 'control-token': control_token } });
  const { entries } = (await response.json()) as { entries: LedgerEntry[] };
  return entries;
}
