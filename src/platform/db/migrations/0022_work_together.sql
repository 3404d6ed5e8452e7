-- Jobs of one client that start or end at the same time do so in one statement. One by one in a loop, because each is then
-- found by its primary key: in a join, the planner may read all jobs of the client, which the tenant policy names, whenever
-- it underestimates their number. The functions run with the rights and the tenant of their caller.

-- Starts the first job, if there is one, of each lane whose lease is still valid. Returns these lanes, which stay locked.
-- Lanes are locked in the order of their ids, as everywhere several are locked. Each statement in the loop sees what was
-- committed while the loop waited for the lane. A job is locked as it is chosen: one that is being parked at this moment is
-- waited for and then skipped.
CREATE FUNCTION start_jobs(lane_ids uuid[], fences bigint[]) RETURNS SETOF uuid LANGUAGE plpgsql AS $$
DECLARE
  held record;
  first_id bigint;
BEGIN
  FOR held IN
    SELECT lanes.id, lanes.organization_id, lanes.key
      FROM lanes JOIN unnest(lane_ids, fences) AS lease (id, fence) ON lanes.id = lease.id AND lanes.fence = lease.fence
     WHERE lanes.locked_until > clock_timestamp() ORDER BY lanes.id FOR UPDATE OF lanes
  LOOP
    SELECT id INTO first_id FROM jobs
     WHERE organization_id = held.organization_id AND lane = held.key AND state IN ('queued', 'running') AND NOT parked
     ORDER BY id LIMIT 1 FOR UPDATE;
    UPDATE jobs SET state = 'running', attempts = attempts + 1, started_at = coalesce(started_at, now())
     WHERE id = first_id;
    RETURN NEXT held.id;
  END LOOP;
END $$;

-- Ends jobs, whose lanes the caller has locked: a JSON array of objects with id, state, event_id and error.
CREATE FUNCTION finish_jobs(finished json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  job record;
BEGIN
  FOR job IN SELECT * FROM json_to_recordset(finished) AS job (id bigint, state text, event_id uuid, error json) LOOP
    UPDATE jobs SET state = job.state, finished_at = clock_timestamp(), event_id = job.event_id, error = job.error
     WHERE id = job.id;
  END LOOP;
END $$;

REVOKE ALL ON FUNCTION start_jobs, finish_jobs FROM PUBLIC;
GRANT EXECUTE ON FUNCTION start_jobs, finish_jobs TO chartwire_service;

-- No tenant's data: which jobs a restored backup contained. Read with the steps of a job.
GRANT SELECT (id, restored_at, last_job_id, last_step) ON restores TO chartwire_service;

-- As in 0008, with 20 deliveries at once to an endpoint, in place of 4, unless it is failing: 20 leave room for other
-- endpoints of the client, which gets 32 of the 64 slots of a worker.
CREATE POLICY crossing ON webhook_endpoints TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (id, failing_since) ON webhook_endpoints TO chartwire_system;
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
      FROM turns JOIN webhook_endpoints AS endpoint ON endpoint.id = turns.member
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
