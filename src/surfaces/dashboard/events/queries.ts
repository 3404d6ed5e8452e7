import type { Database, Fragment, Query } from '../../../platform/db/database.ts';
import { limitTo } from '../../../platform/db/fragments.ts';
import { type DeliveryStatus, event_days_max } from '../../../product/webhooks/events.ts';
import { parsePeriod } from '../../../product/webhooks/period.ts';
import type { EventDetails, EventRow } from './schema.ts';

type EventSearch = {
  event_type?: string | undefined;
  /** `none`: no endpoint was subscribed to it. */
  delivery_status?: DeliveryStatus | 'none' | undefined;
  job_id?: number | undefined;
  account_id?: string | undefined;
  /** Only events sent to this endpoint, with their delivery to it. */
  webhook_id?: string | undefined;
  /** Days or date-times, see `parsePeriod`. */
  start_date?: string | undefined;
  end_date?: string | undefined;
  /** The last event of the previous page. */
  before?: string | undefined;
  page_size: number;
};

/** Lists a client's events across all its accounts, newest first. */
export function browseEvents(db: Database, client_id: string, search: EventSearch): Promise<EventRow[]> {
  return db.search<EventRow>(
    client_id,
    (sql) => sql`
      SELECT ${eventColumns(sql)}
        FROM (${newest(sql, client_id, search)}) AS event
        ${eventSources(sql, search.webhook_id)}
       ORDER BY event.created_at DESC, event.id DESC`,
  );
}

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
            'signed_headers', (SELECT json_build_object('webhook-id', replace(event.id::text, '-', ''),
                          'webhook-timestamp', signed_at_s::text, 'webhook-signature', signature)
                        FROM delivery_attempts
                       WHERE delivery_id = delivery.id AND attempt = delivery.attempts AND signature IS NOT NULL),
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

/**
 * Events of one type or status are a small share of all, so they are read through the per-account indexes of the public
 * list and merged: an index across accounts would slow down every write and serve only this page.
 */
function newest(sql: Query, client_id: string, search: EventSearch): Fragment {
  const { account_id, event_type, delivery_status, page_size } = search;
  if (account_id === undefined && event_type === undefined && delivery_status === undefined) {
    return sql`
      SELECT * FROM events WHERE client_id = ${client_id} ${matching(sql, search)}
       ORDER BY created_at DESC, events.id DESC ${limitTo(sql, page_size)}`;
  }
  return sql`
    SELECT event.* FROM accounts CROSS JOIN LATERAL (
      SELECT * FROM events
       WHERE client_id = ${client_id} AND account_id = accounts.id ${matching(sql, search)}
       ORDER BY created_at DESC, events.id DESC ${limitTo(sql, page_size)}) AS event
     ${account_id === undefined ? sql`` : sql`WHERE accounts.id = ${account_id}`}
     ORDER BY event.created_at DESC, event.id DESC ${limitTo(sql, page_size)}`;
}

/** The columns of a list row, selected from `event` and the joins of `eventSources`. */
function eventColumns(sql: Query): Fragment {
  return sql`
    replace(event.id::text, '-', '') AS id, event.type, iso(event.created_at) AS created_at, event.job_id::int8 AS job_id,
    json_build_object('id', replace(account.id::text, '-', ''), 'user_id', account.user_id,
      'org_id', organization.org_id) AS account,
    coalesce(delivered.status, event.delivery_status) AS delivery_status, delivered.endpoints, delivered.delivered,
    delivered.tries, delivered.next_try_at`;
}

/**
 * With an endpoint, status and attempts are those of the delivery to it. OFFSET 0 keeps the per-row lookups from
 * becoming joins, which would read all of a thousand practices for one page.
 */
function eventSources(sql: Query, webhook_id?: string): Fragment {
  return sql`
    CROSS JOIN LATERAL (SELECT * FROM accounts WHERE accounts.id = event.account_id OFFSET 0) AS account
    CROSS JOIN LATERAL (
      SELECT org_id FROM organizations WHERE organizations.id = account.organization_id OFFSET 0) AS organization
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS endpoints, count(*) FILTER (WHERE status = 'success')::int AS delivered,
             coalesce(sum(attempts), 0)::int AS tries, iso(min(ready_at)) AS next_try_at,
             ${webhook_id === undefined ? sql`NULL` : sql`min(status)`} AS status
        FROM deliveries WHERE event_id = event.id
         ${webhook_id === undefined ? sql`` : sql`AND endpoint_id = ${webhook_id}`}) AS delivered`;
}

function matching(sql: Query, search: EventSearch): Fragment {
  const { event_type, delivery_status, job_id, webhook_id, start_date, end_date, before } = search;
  const from = start_date === undefined ? undefined : parsePeriod('start_date', start_date);
  const to = end_date === undefined ? undefined : parsePeriod('end_date', end_date);
  return sql`
    AND created_at > now() - make_interval(days => ${event_days_max})
    ${event_type === undefined ? sql`` : sql`AND type = ${event_type}`}
    ${webhook_id === undefined ? withStatus(sql, delivery_status) : sentTo(sql, webhook_id, delivery_status)}
    ${job_id === undefined ? sql`` : sql`AND job_id = ${job_id}`}
    ${from === undefined ? sql`` : sql`AND created_at >= ${from.starts}::text::timestamptz`}
    ${to === undefined ? sql`` : sql`AND created_at < ${to.ends}::text::timestamptz`}
    ${before === undefined ? sql`` : sql`AND (created_at, events.id) < (SELECT last.created_at, last.id FROM events AS last WHERE last.id = ${before})`}`;
}

function withStatus(sql: Query, status: EventSearch['delivery_status']): Fragment {
  if (status === undefined) return sql``;
  return status === 'none' ? sql`AND delivery_status IS NULL` : sql`AND delivery_status = ${status}`;
}

function sentTo(sql: Query, webhook_id: string, status: EventSearch['delivery_status']): Fragment {
  return sql`AND EXISTS (SELECT FROM deliveries WHERE event_id = events.id AND endpoint_id = ${webhook_id}
    ${status === undefined ? sql`` : sql`AND deliveries.status = ${status}`})`;
}
