import type { Tx } from '../../platform/db/database.ts';
import type { Job } from './jobs.ts';

/** Records that the EMR of a job's account did not respond, or not usefully. Every failed attempt in a row counts. */
export async function recordOutage(tx: Tx, { client_id, account_id }: Job): Promise<void> {
  await tx`INSERT INTO emr_outages (account_id, client_id) VALUES (${account_id}, ${client_id})
    ON CONFLICT (account_id) DO UPDATE SET last_failure_at = now()`;
}

/** Ends the outage of an account's EMR, which has responded to an attempt that started during it. */
export async function endOutage(tx: Tx, { account_id }: Job): Promise<void> {
  await tx`DELETE FROM emr_outages WHERE account_id = ${account_id}`;
}
