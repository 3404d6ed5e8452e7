import type { WebhookRow } from '../../model/dashboard/webhooks.ts';
import type { Database } from '../../platform/db/database.ts';
import { lastProblem } from './endpoints.ts';

/** A client's endpoints with their delivery statistics, for the dashboard. Reads the attempts of all endpoints in one pass. */
export function describeEndpoints(db: Database, client_id: string): Promise<WebhookRow[]> {
  return db.search<WebhookRow>(
    client_id,
    (sql) => sql`
      SELECT endpoint.id, url, endpoint.status, disabled_reason, to_json(event_types) AS event_types,
        iso(endpoint.created_at) AS created_at, iso(failing_since) AS failing_since,
        CASE WHEN failing_since IS NOT NULL THEN ${lastProblem(sql)} END AS problem,
        (SELECT iso(max(finished_at)) FROM deliveries
          WHERE endpoint_id = endpoint.id AND deliveries.status = 'success') AS last_success_at,
        coalesce(day.tries, 0)::int AS tries_day, coalesce(day.successes, 0)::int AS successes_day,
        (SELECT count(*)::int FROM deliveries WHERE endpoint_id = endpoint.id AND ready_at IS NOT NULL) AS pending,
        EXISTS (SELECT FROM receivers WHERE endpoint_id = endpoint.id) AS built_in
        FROM webhook_endpoints AS endpoint
        LEFT JOIN (SELECT endpoint_id, count(*) AS tries,
                          count(*) FILTER (WHERE status_code BETWEEN 200 AND 299) AS successes
                     FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
                    WHERE delivery_attempts.client_id = ${client_id} AND at > now() - interval '24 hours'
                    GROUP BY endpoint_id) AS day ON day.endpoint_id = endpoint.id
       ORDER BY endpoint.created_at, endpoint.id`,
  );
}
