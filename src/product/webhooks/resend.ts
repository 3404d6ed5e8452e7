import { parseId } from '../../catalog/ids.ts';
import type { Fragment, Sql, Tx } from '../../platform/db/database.ts';
import { addDeliveries, restartDeliveries, restartFailed } from './deliveries.ts';
import { findSubscribed, isSubscribed, lockEnabled } from './endpoints.ts';
import { event_days_max, findRecent, lockEvents, updateDeliveryStatus } from './events.ts';

/**
 * Resends an event of the last 30 days to every enabled endpoint subscribed to its type, including endpoints added
 * since. Pending deliveries are left as they are. Undefined if the account has no such event. The caller notifies
 * `chartwire_deliveries` after the commit.
 */
export async function resendEvent(
  tx: Tx,
  client_id: string,
  account_id: string,
  event_id: string,
): Promise<{ deliveries: number; mrns: string[] } | undefined> {
  const id = parseId(event_id);
  const recent = id && (await findRecent(tx, account_id, id));
  if (!id || !recent) return undefined;
  // Lock order: see `lockEvents`.
  const endpoint_ids = (await findSubscribed(tx, [recent.type]))(recent);
  if ((await lockEvents(tx, [id])) === 0) return undefined;
  const restarted = await restartDeliveries(tx, id, endpoint_ids);
  const added = await addDeliveries(
    tx,
    endpoint_ids.map((endpoint_id) => ({ client_id, event_id: id, endpoint_id })),
  );
  await updateDeliveryStatus(tx, [id]);
  return { deliveries: restarted + added, mrns: recent.mrns };
}

/** Events per transaction: small enough that their rows stay locked for tens of milliseconds only. */
const batch_max = 100;

/** Failed events between the requested time and `until`. */
export type FailedCount = {
  /** Events with a failed delivery to an endpoint that is enabled and subscribed to them. */
  events: number;
  /** Events whose endpoints are disabled or no longer subscribed to them. */
  stuck: number;
  until: string;
};

type ResendSearch = {
  since: string;
  until: string;
  after: string | undefined;
  /** Only deliveries to this endpoint. */
  webhook_id: string | undefined;
};

/** Counts the events since a time that are failed now, and those among them that no endpoint can receive. */
export async function countFailed(tx: Tx, since: string, webhook_id?: string): Promise<FailedCount> {
  const [row] = await tx<FailedCount[]>`
    SELECT count(*) FILTER (WHERE sendable)::int AS events, count(*) FILTER (WHERE NOT sendable)::int AS stuck,
           iso(clock_timestamp()) AS until
      FROM (SELECT ${sendable(tx, webhook_id)} AS sendable FROM events AS event
             WHERE ${failedSince(tx, since, webhook_id)}) AS failed`;
  if (!row) throw new Error('The count returned no row.');
  return row;
}

/**
 * Queues one batch of the failed events of a period, oldest first, and returns where the next batch starts. Resends only
 * deliveries that are failed at this moment: those another operator has resent meanwhile, or that reached another
 * endpoint, are left alone. `mrns` are the patients concerned. The caller notifies `chartwire_deliveries` after the
 * commit.
 */
export async function resendFailed(
  tx: Tx,
  { since, until, after, webhook_id }: ResendSearch,
): Promise<{ resent: number; next: string | null; mrns: string[] }> {
  const rows = await tx<{ id: string; mrns: string[] }[]>`
    SELECT event.id, event.mrns FROM events AS event
     WHERE ${failedSince(tx, since, webhook_id)} AND created_at < ${until}::text::timestamptz
       AND ${sendable(tx, webhook_id)}
     ${after === undefined ? tx`` : tx`AND (created_at, event.id) > (SELECT last.created_at, last.id FROM events AS last WHERE last.id = ${after})`}
     ORDER BY created_at, event.id LIMIT ${batch_max}`;
  const ids = rows.map((row) => row.id);
  // Lock order: see `lockEvents`.
  await lockEnabled(tx);
  await lockEvents(tx, ids);
  const restarted = await restartFailed(tx, ids, webhook_id);
  await updateDeliveryStatus(tx, restarted);
  const mrns = rows.flatMap((row) => (restarted.includes(row.id) ? row.mrns : []));
  return { resent: restarted.length, mrns, next: ids.length < batch_max ? null : (ids.at(-1) ?? null) };
}

function failedSince(sql: Sql | Tx, since: string, webhook_id: string | undefined): Fragment {
  // By account, so that the index on status is used. An event is failed only when no delivery of it is pending.
  return sql`
    event.account_id IN (SELECT id FROM accounts) AND ${webhook_id === undefined ? sql`event.delivery_status = 'failed'` : sql`event.id = ANY (ARRAY(SELECT event_id FROM deliveries WHERE endpoint_id = ${webhook_id} AND status = 'failed'))`}
    AND event.created_at >= ${since}::text::timestamptz
    AND event.created_at > now() - make_interval(days => ${event_days_max})`;
}

function sendable(sql: Sql | Tx, webhook_id: string | undefined): Fragment {
  return sql`
    EXISTS (SELECT FROM deliveries AS delivery JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
             WHERE delivery.event_id = event.id AND delivery.status = 'failed' AND endpoint.status = 'enabled'
               AND ${isSubscribed(sql)}
               ${webhook_id === undefined ? sql`` : sql`AND endpoint.id = ${webhook_id}`} OFFSET 0)`;
}
