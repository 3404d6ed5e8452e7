import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';

export interface Receipt {
  operation: string;
  externalRef: string;
  recordId: string;
  receivedAt: Date;
  /** The body of the write's response, without its recordId. */
  answer: object;
}

/**
 * Comes before everything a write changes. A second request with the same reference waits here until the first commits or
 * rolls back, so that of several concurrent requests exactly one continues.
 */
export async function claimReference(sql: Query, operation: string, externalRef: string, at: Date): Promise<void> {
  const claimed = await sql`
    insert into receipts (operation, external_ref, received_at) values (${operation}, ${externalRef}, ${at})
    on conflict do nothing returning 1`;
  if (claimed.length > 0) return;
  const receipt = await findReceipt(sql, operation, externalRef);
  throw new EmrError('DUPLICATE_REFERENCE', `externalRef was already used for ${operation}.`, {
    recordId: receipt?.recordId ?? null,
  });
}

export async function completeReceipt(
  sql: Query,
  { operation, externalRef, recordId, answer }: Omit<Receipt, 'receivedAt'>,
): Promise<void> {
  await sql`
    update receipts set record_id = ${recordId}, answer = ${JSON.stringify(answer)}::text::jsonb
    where operation = ${operation} and external_ref = ${externalRef}`;
}

export async function findReceipt(sql: Query, operation: string, externalRef: string): Promise<Receipt | undefined> {
  const [receipt] = await sql<Receipt[]>`
    select operation, external_ref, record_id, received_at, answer from receipts
    where operation = ${operation} and external_ref = ${externalRef}`;
  return receipt;
}

/** A write request as it arrived, whether or not it is applied. */
export interface ReceivedWrite {
  operation: string;
  marker: string | null;
  at: Date;
  /** The MRN of the affected chart. Called before the write is applied. */
  findMrn(sql: Query): Promise<string | undefined>;
}

interface LedgerEntry {
  operation: string;
  marker: string | null;
  patientMrn: string | null;
  at: Date;
  applied: boolean;
}

/** Adds a write that was applied, in its transaction. */
export async function recordApplied(sql: Query, received: ReceivedWrite, mrn: string | undefined): Promise<void> {
  await addLedgerEntry(sql, received, mrn, true);
}

/** Adds a write that was rejected, prevented by a fault, or rolled back. */
export async function recordNotApplied(sql: Query, received: ReceivedWrite): Promise<void> {
  await addLedgerEntry(sql, received, await received.findMrn(sql), false);
}

async function addLedgerEntry(
  sql: Query,
  { operation, marker, at }: ReceivedWrite,
  mrn: string | undefined,
  applied: boolean,
): Promise<void> {
  const entry: LedgerEntry = { operation, marker, patientMrn: mrn ?? null, at, applied };
  await sql`insert into ledger ${sql.values(entry)}`;
}

export async function listLedger(sql: Query): Promise<LedgerEntry[]> {
  return sql<LedgerEntry[]>`
    select operation, marker, patient_mrn, at, applied from ledger order by ledger_id`;
}
