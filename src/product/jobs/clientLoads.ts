import type { Attention, ClientLoad } from '../../model/dashboard/overview.ts';
import type { Database } from '../../platform/db/database.ts';
import { type ClientScope, inScope } from '../../platform/db/fragments.ts';
import type { Context } from '../context.ts';

/** The jobs page lists the rest. */
const reviews_shown = 10;

/** The queue of each client in the scope, and how many of its accounts have to be re-linked. */
export async function readClientLoads(ctx: Pick<Context, 'db'>, scope: ClientScope): Promise<ClientLoad[]> {
  const sql = ctx.db.system.pooled;
  return sql<ClientLoad[]>`
    WITH waiting AS (
      SELECT client_id, count(*) FILTER (WHERE state = 'queued' AND NOT parked) AS queued,
             count(*) FILTER (WHERE state = 'running') AS running, count(*) FILTER (WHERE parked) AS parked,
             iso(min(created_at) FILTER (WHERE state = 'queued' AND NOT parked)) AS oldest_queued_at
        FROM jobs WHERE state IN ('queued', 'running') GROUP BY client_id
    ), review AS (
      SELECT client_id, count(*) AS n FROM jobs
       WHERE state = 'needs_review' AND review_outcome IS NULL GROUP BY client_id
    ), relink AS (
      SELECT client_id, count(*) AS n FROM accounts WHERE status = 'login_required' GROUP BY client_id
    )
    SELECT public_id AS client_id, name, coalesce(queued, 0)::int AS queued,
           coalesce(running, 0)::int AS running, coalesce(parked, 0)::int AS parked,
           coalesce(review.n, 0)::int AS needs_review, oldest_queued_at, coalesce(relink.n, 0)::int AS relink
      FROM clients LEFT JOIN waiting ON waiting.client_id = clients.id LEFT JOIN review ON review.client_id = clients.id
           LEFT JOIN relink ON relink.client_id = clients.id
     WHERE ${inScope(sql, sql`clients.id`, scope)}
     ORDER BY clients.created_at, clients.id`;
}

/** The newest jobs that have to be checked in the EMR. */
export function listOpenReviews(db: Database, client_id: string): Promise<Attention['reviews']> {
  return db.search<Attention['reviews'][number]>(
    client_id,
    (sql) => sql`SELECT id AS job_id, type, iso(finished_at) AS finished_at FROM jobs
      WHERE state = 'needs_review' AND review_outcome IS NULL ORDER BY id DESC LIMIT ${reviews_shown}`,
  );
}
