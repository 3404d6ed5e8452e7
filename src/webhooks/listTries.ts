import type { Database } from '../db/database.ts';
import type { JobEvent } from '../model/dashboard/jobs.ts';

/** An event with each endpoint that is told of it, and each try to do so. */
export async function listTries(db: Database, client_id: string, event_id: string): Promise<JobEvent | undefined> {
  const [event] = await db.read<JobEvent>(
    client_id,
    (sql) => sql`
      SELECT replace(event.id::text, '-', '') AS event_id, event.type, iso(event.created_at) AS created_at,
        (SELECT coalesce(json_agg(json_build_object('url', endpoint.url, 'status', delivery.status,
            'next_try_at', CASE WHEN delivery.status = 'pending' THEN iso(delivery.ready_at) END,
            'tries', (SELECT coalesce(json_agg(json_build_object('attempt', attempt.attempt, 'at', iso(attempt.at),
                'duration_ms', attempt.duration_ms, 'status_code', attempt.status_code, 'problem', attempt.problem)
                ORDER BY attempt.attempt), '[]')
              FROM delivery_attempts AS attempt WHERE attempt.delivery_id = delivery.id))
            ORDER BY endpoint.created_at, endpoint.id), '[]')
           FROM deliveries AS delivery JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
          WHERE delivery.event_id = event.id) AS deliveries
        FROM events AS event WHERE event.id = ${event_id}`,
  );
  return event;
}
