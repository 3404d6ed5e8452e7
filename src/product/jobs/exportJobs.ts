import type { JobRow } from '../../model/dashboard/jobs.ts';
import { csvLine } from '../../platform/csv.ts';
import type { Database, Fragment, Query } from '../../platform/db/database.ts';
import { readJobPatients } from './jobPatients.ts';
import { type JobFilters, listJobs } from './listJobs.ts';

/** The file, about a megabyte, is complete before it is sent, because its patients must be in the audit log first. */
const jobs_max = 5_000;
const page_size = 1_000;

const columns = [
  'job_id',
  'type',
  'state',
  'practice',
  'user',
  'mrn',
  'accepted_at',
  'started_at',
  'finished_at',
  'waited_for_relinking_ms',
  'attempts',
  'failure_code',
  'failure_reason',
] as const;

/** The newest jobs of a search as CSV, with the MRNs in it. */
export async function exportJobs(
  db: Database,
  client_id: string,
  filters: JobFilters,
  among?: (sql: Query) => Fragment,
): Promise<{ csv: string; jobs: number; mrns: (string | null)[] }> {
  const lines = [csvLine(columns)];
  const mrns: (string | null)[] = [];
  for (let before: string | null | undefined; before !== null && lines.length <= jobs_max; ) {
    const page = await listJobs(db, client_id, { ...filters, page_size, ...(before && { before }) }, among);
    const ids = page.rows.map(({ job_id }) => job_id);
    const patients = new Map((await readJobPatients(db, client_id, ids)).map((each) => [each.job_id, each]));
    for (const row of page.rows) {
      const { mrn = null, message = null } = patients.get(row.job_id) ?? {};
      mrns.push(mrn);
      lines.push(csvLine(valuesOf(row, mrn, message).map((value) => String(value ?? ''))));
    }
    before = page.next;
  }
  return { csv: lines.join(''), jobs: lines.length - 1, mrns };
}

function valuesOf(row: JobRow, mrn: string | null, message: string | null): (string | number | null)[] {
  const { job_id, type, state, account, created_at, started_at, finished_at, parked_ms, attempts, error_code } = row;
  const times = [created_at, started_at, finished_at, parked_ms];
  return [job_id, type, state, account.org_id, account.user_id, mrn, ...times, attempts, error_code, message];
}
