-- What an endpoint receives beyond `event_types`: only events of these organizations (the client's own IDs; null: all),
-- and events of changes that staff made in the EMR.
ALTER TABLE webhook_endpoints ADD COLUMN org_ids text[];
ALTER TABLE webhook_endpoints ADD COLUMN sync_events boolean NOT NULL DEFAULT false;
-- Deliveries to a paused endpoint wait until it is resumed.
ALTER TABLE webhook_endpoints ADD COLUMN paused_at timestamptz;
GRANT SELECT (paused_at) ON webhook_endpoints TO chartwire_system;

-- The event of a change that a sync found. Only endpoints with `sync_events` get it.
ALTER TABLE events ADD COLUMN from_sync boolean NOT NULL DEFAULT false;

-- The deliveries of an endpoint, newest first. Ids are time-ordered.
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, id);
DROP INDEX deliveries_endpoint;

-- As in 0022, without paused endpoints.
CREATE OR REPLACE FUNCTION claim_deliveries(worker text, free integer, lease interval, since timestamptz)
  RETURNS TABLE (id uuid, client_id uuid, fence bigint, oldest timestamptz)
  LANGUAGE plpgsql AS $body$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock(7240003);
  RETURN QUERY
  WITH RECURSIVE turns AS (
    (SELECT endpoint_id AS member FROM deliveries WHERE ready_at >= since ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT endpoint_id FROM deliveries WHERE ready_at >= since AND endpoint_id > turns.member
            ORDER BY endpoint_id LIMIT 1)
      FROM turns WHERE turns.member IS NOT NULL
  ), held AS MATERIALIZED (
    SELECT endpoint_id AS member, client_id, owner FROM deliveries WHERE locked_until > clock_timestamp()
  ), waiting AS (
    SELECT row.id, row.client_id, row.ready_at,
           (SELECT count(*) FROM held WHERE held.member = turns.member)
             + row_number() OVER (PARTITION BY turns.member ORDER BY row.ready_at) AS turn,
           CASE WHEN endpoint.failing_since IS NULL THEN 20 ELSE 4 END AS parallel_max
      FROM turns JOIN webhook_endpoints AS endpoint ON endpoint.id = turns.member AND endpoint.paused_at IS NULL
      CROSS JOIN LATERAL (
        SELECT id, client_id, ready_at FROM deliveries
         WHERE endpoint_id = turns.member AND ready_at BETWEEN since AND clock_timestamp()
           AND (locked_until IS NULL OR locked_until <= clock_timestamp())
         ORDER BY ready_at LIMIT free
      ) AS row
  ), ranked AS (
    SELECT id, ready_at, own.n + row_number() OVER (PARTITION BY client_id ORDER BY turn, ready_at) AS rank
      FROM waiting CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM held WHERE held.client_id = waiting.client_id AND held.owner = worker) AS own
     WHERE turn <= parallel_max
  ), placed AS (
    SELECT id, rank, row_number() OVER (ORDER BY rank, ready_at) AS place FROM ranked
  ), chosen AS (
    SELECT row.id FROM deliveries AS row JOIN placed USING (id)
     -- `free` slots minus those given to earlier places are left; a client gets no more than that.
     WHERE placed.place <= free AND placed.rank <= free - placed.place + 1
       FOR UPDATE OF row SKIP LOCKED
  ), claimed AS (
    UPDATE deliveries AS row SET locked_until = clock_timestamp() + lease, owner = worker, fence = row.fence + 1
      FROM chosen WHERE row.id = chosen.id
    RETURNING row.id, row.client_id, row.fence
  )
  SELECT claimed.id, claimed.client_id, claimed.fence, NULL::timestamptz FROM claimed
  UNION ALL
  SELECT NULL, NULL, NULL, coalesce(min(waiting.ready_at), statement_timestamp() - interval '2 seconds') FROM waiting;
END $body$;
-- Replacing a function drops its settings; see 0033.
ALTER FUNCTION claim_deliveries SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION claim_deliveries SET enable_seqscan = off;
ALTER FUNCTION claim_deliveries SET enable_hashjoin = off;
ALTER FUNCTION claim_deliveries SET enable_mergejoin = off;
