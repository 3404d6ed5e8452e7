import type { EventDetails } from '../../model/dashboard/events.ts';
import type { Database } from '../../platform/db/database.ts';
import { eventColumns, eventSources } from './browseEvents.ts';

/** One event with its body, deliveries and attempts. `mrns` are the patients it concerns. */
export async function describeEvent(
  db: Database,
  client_id: string,
  id: string,
): Promise<(EventDetails & { mrns: string[] }) | undefined> {
  const [row] = await db.read<EventDetails & { mrns: string[] }>(
    client_id,
    (sql) => sql`
      SELECT ${eventColumns(sql)}, event.body, event.mrns,
        (SELECT coalesce(json_agg(json_build_object(
            'id', replace(delivery.id::text, '-', ''), 'webhook_id', endpoint.id, 'url', endpoint.url,
            'endpoint_status', endpoint.status, 'status', delivery.status, 'next_try_at', iso(delivery.ready_at),
            'finished_at', iso(delivery.finished_at),
            'tries', (SELECT coalesce(json_agg(json_build_object('attempt', attempt, 'at', iso(at),
                          'duration_ms', duration_ms, 'status_code', status_code, 'problem', problem,
                          'snippet', snippet) ORDER BY attempt DESC), '[]')
                        FROM delivery_attempts WHERE delivery_id = delivery.id))
            ORDER BY endpoint.created_at, endpoint.id), '[]')
           FROM deliveries AS delivery JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
          WHERE delivery.event_id = event.id) AS deliveries
        FROM events AS event ${eventSources(sql)}
       WHERE event.client_id = ${client_id} AND event.id = ${id}`,
  );
  return row;
}
