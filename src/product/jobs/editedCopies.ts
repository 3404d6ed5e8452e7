import type { Fragment, Query } from '../../platform/db/database.ts';

/** The edited copy of the jobs with these ids, as JSON. */
export function editedCopy(sql: Query, job_ids: Fragment): Fragment {
  return sql`SELECT json_build_object('job_id', run.id, 'state', CASE WHEN run.parked THEN 'parked' ELSE run.state END)
      FROM operations AS copy JOIN jobs AS run ON run.operation_id = copy.id
     WHERE copy.edited_from_job_id = ANY (${job_ids}) ORDER BY run.id DESC LIMIT 1`;
}
