import type { Attention } from '../../model/dashboard/overview.ts';
import type { Database } from '../../platform/db/database.ts';
import { unfixed } from './listJobs.ts';

/** Only the newest are read, so that a week of failures does not slow down the overview. */
const jobs_max = 10_000;
/** Older failures are no longer worth acting on; the jobs page still lists them. */
const days = 7;

/** Failed jobs that were not run again, by failure code, most frequent first. */
export function listFailureGroups(db: Database, client_id: string): Promise<Attention['failures']> {
  return db.search<Attention['failures'][number]>(
    client_id,
    (sql) => sql`
      SELECT found.code, found.jobs, json_build_object('job_id', job.id, 'type', job.type, 'org_id', organization.org_id,
             'finished_at', iso(job.finished_at)) AS example
        FROM (SELECT code, count(*)::int AS jobs, max(id) AS newest
                FROM (SELECT id, coalesce(error ->> 'code', 'internal') AS code FROM jobs
                       WHERE client_id = ${client_id} AND ${unfixed(sql)}
                         AND created_at >= now() - make_interval(days => ${days})
                       ORDER BY created_at DESC, id DESC LIMIT ${jobs_max}::integer) AS failed
               GROUP BY code) AS found
        JOIN jobs AS job ON job.id = found.newest
        JOIN organizations AS organization ON organization.id = job.organization_id
       ORDER BY found.jobs DESC, found.code`,
  );
}

/** The jobs of the last 24 hours that failed and were not run again. */
export async function countFailedDay(db: Database, client_id: string): Promise<number> {
  const [row] = await db.search<{ jobs: number }>(
    client_id,
    (sql) => sql`
      SELECT count(*)::int AS jobs FROM jobs
       WHERE client_id = ${client_id} AND ${unfixed(sql)} AND created_at >= now() - interval '24 hours'`,
  );
  return row?.jobs ?? 0;
}
