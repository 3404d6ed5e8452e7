import type { Query } from '../database/open.ts';

/** A write as it arrived at the door, whatever became of it. */
export interface Received {
  operation: string;
  marker: string | null;
  patientMrn: string | null;
  at: Date;
}

export async function addLedgerEntry(sql: Query, received: Received, applied: boolean): Promise<void> {
  await sql`insert into ledger ${sql.values({ ...received, applied })}`;
}

export async function listLedger(sql: Query): Promise<(Received & { applied: boolean })[]> {
  return sql<(Received & { applied: boolean })[]>`
    select operation, marker, patient_mrn, at, applied from ledger order by ledger_id`;
}
