-- A parked job is queued: a job that became running and parked at once was never picked up again.
ALTER TABLE jobs NO FORCE ROW LEVEL SECURITY;
UPDATE jobs SET parked = false WHERE parked AND state <> 'queued';
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
ALTER TABLE jobs ADD CONSTRAINT jobs_parked CHECK (NOT parked OR state = 'queued');
GRANT SELECT (lane) ON jobs TO chartwire_system;

-- Claiming work. One claim at a time in the whole installation, so that parallel_max applies across processes. The lock
-- is taken and released within one statement: a client that is frozen while it claims blocks nobody. PL/pgSQL, because
-- the second statement of a function sees what was committed while the first waited for the lock.
--
-- Slots are divided by client first. A row's rank is its place among its client's rows plus the number of slots that the
-- client holds in this worker, and a client gets a slot only while it holds fewer than are free: with 32 slots, a client
-- whose EMR hangs holds at most 16, the next one 8. Within a client, accounts (endpoints) take turns in the same way, up
-- to parallel_max. The distinct groups are found by jumping through the index: ten thousand waiting lanes of one account
-- cost one jump.
--
-- `since` spares the claim the rows that are gone. While some transaction stays open, PostgreSQL keeps every deleted
-- version, and reading past 6,000 of them took 9 ms. Work is done in the order of `ready_at`, so nearly all of them are
-- older than the oldest row that waits, which the last row of the result gives for the next claim. What may be older
-- (expired leases, rows of slow transactions) is found by a claim since '-infinity' every second.

DO $$
DECLARE
  -- 1: table, 2: column of the group, 3: how many rows of a group may be claimed at once, 4: lock.
  template text := $template$
CREATE FUNCTION claim_%1$s(worker text, free integer, lease interval, since timestamptz)
  RETURNS TABLE (id uuid, client_id uuid, fence bigint, oldest timestamptz)
  LANGUAGE plpgsql AS $body$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock(%4$s);
  RETURN QUERY
  WITH RECURSIVE turns AS (
    (SELECT %2$s AS member FROM %1$s WHERE ready_at >= since ORDER BY %2$s LIMIT 1)
    UNION ALL
    SELECT (SELECT %2$s FROM %1$s WHERE ready_at >= since AND %2$s > turns.member
            ORDER BY %2$s LIMIT 1)
      FROM turns WHERE turns.member IS NOT NULL
  ), held AS MATERIALIZED (
    SELECT %2$s AS member, client_id, owner FROM %1$s WHERE locked_until > clock_timestamp()
  ), waiting AS (
    SELECT row.id, row.client_id, row.ready_at,
           (SELECT count(*) FROM held WHERE held.member = turns.member)
             + row_number() OVER (PARTITION BY turns.member ORDER BY row.ready_at) AS turn, row.parallel_max
      FROM turns CROSS JOIN LATERAL (
        SELECT id, client_id, ready_at, %3$s AS parallel_max FROM %1$s
         WHERE %2$s = turns.member AND ready_at BETWEEN since AND clock_timestamp()
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
    SELECT row.id FROM %1$s AS row JOIN placed USING (id)
     -- `free` slots minus those given to earlier places are left; a client gets no more than that.
     WHERE placed.place <= free AND placed.rank <= free - placed.place + 1
       FOR UPDATE OF row SKIP LOCKED
  ), claimed AS (
    UPDATE %1$s AS row SET locked_until = clock_timestamp() + lease, owner = worker, fence = row.fence + 1
      FROM chosen WHERE row.id = chosen.id
    RETURNING row.id, row.client_id, row.fence
  )
  SELECT claimed.id, claimed.client_id, claimed.fence, NULL::timestamptz FROM claimed
  UNION ALL
  SELECT NULL, NULL, NULL, coalesce(min(waiting.ready_at), statement_timestamp() - interval '2 seconds') FROM waiting;
END $body$
$template$;
BEGIN
  EXECUTE format(template, 'lanes', 'account_id', 'parallel_max', 7240002);
  -- Four at once to one receiver are enough for a burst.
  EXECUTE format(template, 'deliveries', 'endpoint_id', '4', 7240003);
END $$;

REVOKE ALL ON FUNCTION claim_lanes, claim_deliveries FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_lanes, claim_deliveries TO chartwire_system;

-- Runs as the owner, because a role sees no other role's transactions.
CREATE FUNCTION oldest_transaction_seconds() RETURNS double precision
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::double precision FROM pg_stat_activity
   WHERE datname = current_database() AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)
$$;
REVOKE ALL ON FUNCTION oldest_transaction_seconds FROM PUBLIC;
GRANT EXECUTE ON FUNCTION oldest_transaction_seconds TO chartwire_system;
