import type { Fragment, Query, Sql } from '../../platform/db/database.ts';

/** Clients know the ids of jobs accepted after the backup. These ids are skipped, so that no other job reuses one. */
const skipped_job_ids = 1_000_000;

/**
 * What is known about an operation that a restored backup contained. Steps up to `last_step` are from before the
 * backup. `reviewed`: since the restore, a person found that it was not saved in the EMR.
 */
export type RestoredOperation = { last_step: number; reviewed: boolean };

/**
 * Records that this database was restored, before the service uses it. From then on the jobs that it contains look up
 * their writes in the EMR. Runs as the owner of the tables.
 */
export async function insertRestore(owner: Sql, backup_at: Date, unfinished_jobs: number): Promise<void> {
  await owner.begin(async (tx) => {
    await tx`
      INSERT INTO restores (backup_at, unfinished_jobs, last_job_id, last_step)
      SELECT ${backup_at}, ${unfinished_jobs}, jobs.last_value, steps.last_value
        FROM jobs_id_seq AS jobs CROSS JOIN job_steps_n_seq AS steps`;
    await tx`SELECT setval('jobs_id_seq', last_value + ${skipped_job_ids}) FROM jobs_id_seq`;
  });
}

/** The jobs of all tenants that have not finished, without syncs. */
export async function countUnfinishedWrites(system: Sql): Promise<number> {
  const [row] = await system<{ n: number }[]>`
    SELECT count(*) AS n FROM jobs WHERE state IN ('queued', 'running') AND type <> 'sync'`;
  return row?.n ?? 0;
}

/** A `RestoredOperation` as JSON. Null if the operation was accepted after the newest restore, or if there was none. */
export function restoredOperation(sql: Query, operation_id: Fragment): Fragment {
  return sql`(
    SELECT json_build_object('last_step', restore.last_step, 'reviewed', operation.reviewed)
      FROM (SELECT last_job_id, last_step, restored_at FROM restores ORDER BY id DESC LIMIT 1) AS restore
        CROSS JOIN LATERAL (
          SELECT min(id) AS first_job_id,
                 bool_or(coalesce(review_outcome = 'not_done' AND reviewed_at > restore.restored_at, false)) AS reviewed
            FROM jobs WHERE jobs.operation_id = ${operation_id}) AS operation
     WHERE operation.first_job_id <= restore.last_job_id)`;
}
