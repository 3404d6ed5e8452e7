import type { FailureCode } from '../../catalog/failures.ts';
import type { Query, Sql } from '../../platform/db/database.ts';
import { ScannerFailure, type ScanProblem, scanDocument } from '../../platform/security/documentScanner.ts';
import type { Context } from '../context.ts';
import { readUpload } from './enqueue.ts';
import type { Job } from './jobs.ts';

/** Why the documents of a job were not sent. `document_infected` is final; otherwise the job waits for the scanner. */
export class ScanRefusal extends Error {
  readonly code: FailureCode & ('document_infected' | 'scanner_unavailable');

  constructor(code: ScanRefusal['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ScanRefusal';
    this.code = code;
  }
}

/** How long a job waits for the scanner. */
export const scanner_wait_ms = 24 * 3_600_000;

/**
 * Scans the documents of a job, before any part of it is written to the EMR. Returns only if each of them was scanned
 * and nothing was found, or if no scanner is configured.
 */
export async function scanUploads(
  ctx: Pick<Context, 'config' | 'db'>,
  { client_id, operation_id }: Pick<Job, 'client_id' | 'operation_id'>,
  count: number,
  signal: AbortSignal,
): Promise<void> {
  const { document_scanner: scanner } = ctx.config;
  if (!scanner) return;
  for (let position = 0; position < count; position++) {
    const file = await readUpload(ctx.db, client_id, operation_id, position);
    // Removed: the write reports it.
    if (!file) continue;
    const infection = await scanDocument(scanner, file, signal).catch(async (error: unknown) => {
      if (!(error instanceof ScannerFailure) || signal.aborted) throw error;
      await recordFailure(ctx.db.system, error);
      throw new ScanRefusal('scanner_unavailable', `${error.message} The document was not sent.`, error);
    });
    await endFailure(ctx.db.system);
    if (infection === undefined) continue;
    const which = count > 1 ? `Document ${position + 1}` : 'The document';
    throw new ScanRefusal('document_infected', `${which} is infected (${infection}). Nothing was sent to the EMR.`);
  }
}

/** Longer than the pause between two attempts of a job. */
const recent_minutes = 5;

async function recordFailure({ pooled: sql }: Sql, { problem, message }: ScannerFailure): Promise<void> {
  await sql`INSERT INTO document_scanner_failures AS present (problem, failure) VALUES (${problem}, ${message})
    ON CONFLICT (problem) DO UPDATE SET failure = excluded.failure, last_at = now(),
      since = CASE WHEN present.last_at < now() - make_interval(mins => ${recent_minutes}) THEN now() ELSE present.since END`;
}

/** A document that is too large says nothing about others, so its failure ends by itself. */
async function endFailure({ pooled: sql }: Sql): Promise<void> {
  await sql`DELETE FROM document_scanner_failures WHERE problem = 'unavailable'`;
}

/** The failures that documents wait for now, and since when, in seconds. */
export function listScannerFailures(sql: Query): Promise<{ problem: ScanProblem; failure: string; age_s: number }[]> {
  return sql<{ problem: ScanProblem; failure: string; age_s: number }[]>`
    SELECT problem, failure, extract(epoch FROM now() - since)::float8 AS age_s FROM document_scanner_failures
     WHERE last_at > now() - make_interval(mins => ${recent_minutes}) ORDER BY problem`;
}
