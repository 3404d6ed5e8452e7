import { readFile } from 'node:fs/promises';
import type { Sql } from '../../../src/platform/db/database.ts';

/** A write that the service acknowledged with 200. `token` is a text that only this write contains. */
export type Acknowledged = { token: string; kind: string; job_id: string | null; operation_id: string | null };

/** A webhook that a receiver got. `valid`: the signature and the timestamp were right. */
export type Received = {
  /** When the response was decided, which is before it is sent. Milliseconds, as all times here. */
  at: number;
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
  /** The EMR user whose token the write was sent with, where the EMR says so. */
  emr_user?: string;
};

/**
 * What an EMR with refresh tokens noted: a refresh token that was sent to it, and whether it issued new tokens for it; or
 * any credential for the first time.
 */
export type TokenUse =
  | { kind: 'redemption'; at: number; emr: string; emr_user: string | null; token_sha256: string; accepted: boolean }
  | { kind: 'credential'; emr: string; sha256: string; issued_here: boolean };

/**
 * Something the run did that may have cost work in progress or a sign-in. `process`: a process was killed or frozen, with
 * what it held then. `database`: it was down, or connections were cut. `grants`: the EMR ended the sign-ins of these users.
 * `linked`: an account got a new sign-in, from the start of linking to its end.
 */
export type Interruption =
  | {
      kind: 'process';
      at: number;
      /** When a frozen process went on, with what it was sending; null: it was killed. */
      frozen_until: number | null;
      deliveries: { url: string; webhook_id: string }[];
      renewals: string[];
    }
  | { kind: 'database'; at: number; until: number }
  | { kind: 'grants'; at: number; users: User[] }
  | { kind: 'linked'; at: number; until: number; user: User };

export type User = { org_id: string; user_id: string };

/**
 * A read of the cache after the event of a job was committed. `seen` is the unique text of the write whose state was
 * returned; null: no state that this run wrote.
 */
export type CachedRead = { record_id: string; job_id: string; seen: string | null };

/** Everything the invariants are checked against: the database, the EMR's ledger, and what clients and receivers wrote down. */
export type Evidence = {
  /** A connection that sees all tenants. */
  sql: Sql;
  acknowledged: readonly Acknowledged[];
  received: readonly Received[];
  ledger: readonly LedgerEntry[];
  token_uses: readonly TokenUse[];
  interruptions: readonly Interruption[];
  reads: readonly CachedRead[];
  /** The log of the service's database. */
  database_log: readonly string[];
};

/** How much earlier a process may have been killed than what it had sent was noted by who received it. */
export const in_transit_ms = 5_000;

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

/** The lines of the database's log. The server renames a large one when it starts. */
export async function readLog(file: string): Promise<string[]> {
  const earlier = await readFile(`${file}.1`, 'utf8').catch(() => '');
  return (earlier + (await readFile(file, 'utf8'))).split('\n');
}
