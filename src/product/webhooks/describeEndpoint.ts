import type { WebhookBin, WebhookError } from '../../model/dashboard/webhooks.ts';
import type { Database } from '../../platform/db/database.ts';

/** The attempts to reach an endpoint in each of the last 24 hours, oldest first. */
export function readEndpointHours(db: Database, client_id: string, endpoint_id: string): Promise<WebhookBin[]> {
  return db.search<WebhookBin>(
    client_id,
    (sql) => sql`
      SELECT iso(hour) AS at, count(attempt.at) FILTER (WHERE status_code BETWEEN 200 AND 299)::int AS delivered,
             count(attempt.at) FILTER (WHERE status_code IS NULL OR status_code NOT BETWEEN 200 AND 299)::int AS failed
        FROM generate_series(date_trunc('hour', now()) - interval '23 hours', now(), interval '1 hour') AS hour
        LEFT JOIN (SELECT at, status_code FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
                    WHERE delivery_attempts.client_id = ${client_id} AND endpoint_id = ${endpoint_id}
                      AND at > now() - interval '24 hours') AS attempt ON date_trunc('hour', attempt.at) = hour
       GROUP BY hour ORDER BY hour`,
  );
}

/** The last failed attempt of the last 30 days. The response may quote the event: `mrns` are the patients concerned. */
export async function readLastError(
  db: Database,
  client_id: string,
  endpoint_id: string,
): Promise<{ error: WebhookError; mrns: string[] } | undefined> {
  const [found] = await db.search<{ error: WebhookError; mrns: string[] }>(
    client_id,
    (sql) => sql`
      SELECT json_build_object('at', iso(attempt.at), 'status_code', attempt.status_code, 'problem', attempt.problem,
               'snippet', attempt.snippet, 'event_id', replace(event.id::text, '-', ''), 'event_type', event.type) AS error,
             event.mrns
        FROM delivery_attempts AS attempt JOIN deliveries AS delivery ON delivery.id = attempt.delivery_id
        JOIN events AS event ON event.id = delivery.event_id
       WHERE attempt.client_id = ${client_id} AND delivery.endpoint_id = ${endpoint_id} AND attempt.problem IS NOT NULL
         AND attempt.at > now() - interval '30 days'
       ORDER BY attempt.at DESC LIMIT 1`,
  );
  return found;
}
