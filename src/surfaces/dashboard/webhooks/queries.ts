import type { Database } from '../../../platform/db/database.ts';
import { describeCertificate } from '../../../platform/security/certificates.ts';
import { lastProblem } from '../../../product/webhooks/endpoints.ts';
import type { WebhookBin, WebhookError, WebhookRow } from './schema.ts';

/** A client's endpoints with their delivery statistics, for the dashboard. Reads the attempts of all endpoints in one pass. */
export async function describeEndpoints(db: Database, client_id: string): Promise<WebhookRow[]> {
  const rows = await db.search<Omit<WebhookRow, 'certificate'> & { certificate: string | null }>(
    client_id,
    (sql) => sql`
      SELECT endpoint.id, url, endpoint.status, disabled_reason, to_json(event_types) AS event_types,
        to_json(org_ids) AS org_ids, sync_events, iso(paused_at) AS paused_since,
        iso(endpoint.created_at) AS created_at, iso(failing_since) AS failing_since,
        CASE WHEN failing_since IS NOT NULL THEN ${lastProblem(sql)} END AS problem,
        (SELECT iso(max(finished_at)) FROM deliveries
          WHERE endpoint_id = endpoint.id AND deliveries.status = 'success') AS last_success_at,
        coalesce(day.tries, 0)::int AS tries_day, coalesce(day.successes, 0)::int AS successes_day,
        (SELECT count(*)::int FROM deliveries WHERE endpoint_id = endpoint.id AND ready_at IS NOT NULL) AS pending,
        EXISTS (SELECT FROM receivers WHERE endpoint_id = endpoint.id) AS built_in, certificate
        FROM webhook_endpoints AS endpoint
        LEFT JOIN (SELECT endpoint_id, count(*) AS tries,
                          count(*) FILTER (WHERE status_code BETWEEN 200 AND 299) AS successes
                     FROM delivery_attempts JOIN deliveries ON deliveries.id = delivery_id
                    WHERE delivery_attempts.client_id = ${client_id} AND at > now() - interval '24 hours'
                    GROUP BY endpoint_id) AS day ON day.endpoint_id = endpoint.id
       ORDER BY endpoint.created_at, endpoint.id`,
  );
  return rows.map((row) => ({
    ...row,
    certificate: row.certificate === null ? null : describeCertificate(row.certificate),
  }));
}

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
  const [last] = await db.search<{ error: WebhookError; mrns: string[] }>(
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
  return last;
}
