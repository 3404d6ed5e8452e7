-- Operations, which are accepted requests, and the jobs that carry them out.
--
-- Each foreign key costs a lookup and a lock on the parent's row at every insert, and all writes of a tenant share those
-- parents. So there is one chain: event and job → operation → account → organization → client.

-- Operations ----------------------------------------------------------------------------------------------------------

CREATE TABLE operations (
  id                 uuid PRIMARY KEY,
  client_id          uuid NOT NULL,
  organization_id    uuid NOT NULL,
  account_id         uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  type               text NOT NULL,
  input              json NOT NULL,
  -- The patient of an operation: by MRN, or by the encounter or the task, for an action or a note that names no patient.
  -- These are columns because row-level security keeps an index on an expression of `input` from being used (-> is not
  -- leakproof). No such id has 200 characters, and more than 2,700 bytes do not fit into an index.
  patient_mrn        text GENERATED ALWAYS AS (left(coalesce(input ->> 'patient_mrn', input ->> 'mrn'), 200)) STORED,
  encounter_ehr_id   text GENERATED ALWAYS AS (left(input ->> 'emr_appointment_id', 200)) STORED,
  task_ehr_id        text GENERATED ALWAYS AS (left(input ->> 'emr_task_id', 200)) STORED,
  -- The failed job whose request an operator has edited and sent again. Without a reference: the job may be deleted
  -- earlier.
  edited_from_job_id bigint,
  created_at         timestamptz NOT NULL DEFAULT now(),
  -- When the input and the timeline were deleted.
  input_deleted_at   timestamptz
);
CREATE INDEX operations_patient ON operations (client_id, patient_mrn) WHERE patient_mrn IS NOT NULL;
CREATE INDEX operations_encounter ON operations (client_id, encounter_ehr_id) WHERE encounter_ehr_id IS NOT NULL;
CREATE INDEX operations_task ON operations (client_id, task_ehr_id) WHERE task_ehr_id IS NOT NULL;
-- A job has one edited copy; a copy that has failed is edited in turn.
CREATE UNIQUE INDEX operations_edited_from ON operations (edited_from_job_id) WHERE edited_from_job_id IS NOT NULL;
CALL limit_to_tenant('operations');
GRANT SELECT, INSERT, UPDATE, DELETE ON operations TO chartwire_service;

-- The content of documents that are to be sent to the EMR; deleted when their job finishes. A referral has several; the
-- document of another write has the position 0.
CREATE TABLE uploads (
  operation_id uuid NOT NULL REFERENCES operations ON DELETE CASCADE,
  position     smallint NOT NULL DEFAULT 0,
  client_id    uuid NOT NULL,
  content      bytea NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (operation_id, position)
);
-- PDFs and pictures are compressed already.
ALTER TABLE uploads ALTER COLUMN content SET STORAGE EXTERNAL;
CALL limit_to_tenant('uploads');
GRANT SELECT, INSERT, DELETE ON uploads TO chartwire_service;

CREATE TABLE idempotency_keys (
  scope_id        uuid NOT NULL,
  key_hash        bytea NOT NULL,
  client_id       uuid NOT NULL,
  request_hash    bytea NOT NULL,
  operation_id    uuid,
  response_sealed bytea,
  created_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope_id, key_hash)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);
CALL limit_to_tenant('idempotency_keys');
CREATE POLICY crossing ON idempotency_keys TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys TO chartwire_service;
GRANT SELECT (created_at), DELETE ON idempotency_keys TO chartwire_system;

-- Jobs ----------------------------------------------------------------------------------------------------------------

CREATE TABLE jobs (
  id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id           uuid NOT NULL,
  organization_id     uuid NOT NULL,
  account_id          uuid NOT NULL,
  operation_id        uuid NOT NULL REFERENCES operations ON DELETE CASCADE,
  type                text NOT NULL,
  lane                text NOT NULL,
  -- cancelled: the client, or an operator, canceled it before anything was sent to the EMR.
  state               text NOT NULL DEFAULT 'queued'
                      CHECK (state IN ('queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review', 'cancelled')),
  -- The client's own reference of the request, by which it finds the job. It may name a patient, so it is deleted with the
  -- request.
  reference           text,
  -- The job of the same operation that this one repeats.
  run_again_of        bigint,
  -- The span that queued the job, in the format of the header traceparent (W3C Trace Context), for links from its attempts.
  -- Null if telemetry is off.
  traceparent         text CHECK (traceparent ~ '^[0-9a-f-]{55}$'),

  -- Waiting until its account is linked again. `parked_ms`: how long it waited, which is not processing time.
  parked              boolean NOT NULL DEFAULT false,
  parked_since        timestamptz,
  parked_ms           bigint NOT NULL DEFAULT 0,
  attempts            integer NOT NULL DEFAULT 0,
  -- Failed attempts in a row since `retry_since`; both are reset when the account is linked again.
  retries             integer NOT NULL DEFAULT 0,
  retry_since         timestamptz,
  -- How many requests a sync has sent to the EMR over all its attempts, and in its current hour, which may be limited: one
  -- that has sent as many continues in the next hour. Null for other jobs.
  emr_requests        integer,
  emr_hour_requests   integer,
  emr_hour_started_at timestamptz,

  created_at          timestamptz NOT NULL DEFAULT now(),
  started_at          timestamptz,
  finished_at         timestamptz,
  error               json,
  event_id            uuid,

  -- What an operator found in the EMR when the service could not tell. The job's state and its event stay.
  review_outcome      text CHECK (review_outcome IN ('done', 'not_done')),
  review_note         text,
  reviewed_by         text,
  reviewed_at         timestamptz,

  -- A job that was running and parked at once would never be picked up again.
  CONSTRAINT jobs_parked CHECK (NOT parked OR state = 'queued'),
  CONSTRAINT jobs_review CHECK (review_outcome IS NULL OR
    (state = 'needs_review' AND review_note IS NOT NULL AND reviewed_by IS NOT NULL AND reviewed_at IS NOT NULL))
);
CREATE INDEX jobs_lane ON jobs (organization_id, lane, id) WHERE state IN ('queued', 'running') AND NOT parked;
CREATE INDEX jobs_waiting ON jobs (account_id, id) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_parked ON jobs (parked_since) WHERE parked;
CREATE INDEX jobs_operation ON jobs (operation_id);
-- Of two simultaneous requests for another run one is refused.
CREATE UNIQUE INDEX jobs_run_again ON jobs (run_again_of) WHERE run_again_of IS NOT NULL;
-- The dashboard must stay fast with a million finished jobs. Lists of a client's jobs, newest first: most jobs succeed, so
-- only the others are indexed by state, and a successful job costs this index nothing.
CREATE INDEX jobs_newest ON jobs (client_id, created_at DESC, id DESC);
CREATE INDEX jobs_of_type ON jobs (client_id, type, created_at DESC, id DESC);
CREATE INDEX jobs_of_account ON jobs (account_id, created_at DESC, id DESC);
CREATE INDEX jobs_reference ON jobs (client_id, reference, created_at DESC, id DESC) WHERE reference IS NOT NULL;
CREATE INDEX jobs_in_trouble ON jobs (client_id, state, created_at DESC, id DESC)
  WHERE state IN ('partial', 'failed', 'needs_review');
CREATE INDEX jobs_cancelled ON jobs (client_id, created_at DESC, id DESC) WHERE state = 'cancelled';
CREATE INDEX jobs_to_review ON jobs (client_id, id) WHERE state = 'needs_review';
-- The newest syncs of an organization: without it the search for the last one walks all jobs after it.
CREATE INDEX jobs_syncs ON jobs (organization_id, id) WHERE type = 'sync';
-- Finished jobs over time: the charts read the index alone.
CREATE INDEX jobs_ended ON jobs (client_id, finished_at) INCLUDE (state, created_at, parked_ms)
  WHERE finished_at IS NOT NULL;
CALL limit_to_tenant('jobs');
CREATE POLICY crossing ON jobs TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO chartwire_service;
GRANT SELECT (id, client_id, organization_id, type, lane, state, parked, parked_since, retry_since, created_at,
  review_outcome) ON jobs TO chartwire_system;

-- The legal transitions are listed in src/product/jobs/jobs.ts; a test compares the two.
CREATE FUNCTION check_job_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.state, NEW.state) IN (
    ('queued', 'running'), ('running', 'queued'), ('queued', 'cancelled'),
    ('running', 'succeeded'), ('running', 'partial'), ('running', 'failed'), ('running', 'needs_review')
  ) THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'A job does not move from % to %.', OLD.state, NEW.state;
END $$;
CREATE TRIGGER jobs_moves BEFORE UPDATE OF state ON jobs
  FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION check_job_move();

-- Calls to the EMR: the intent is committed before a call, the outcome after it.
CREATE TABLE job_steps (
  job_id    bigint NOT NULL REFERENCES jobs ON DELETE CASCADE,
  n         bigint GENERATED ALWAYS AS IDENTITY,
  client_id uuid NOT NULL,
  attempt   integer NOT NULL,
  name      text NOT NULL,
  kind      text NOT NULL CHECK (kind IN ('note', 'intent', 'outcome')),
  detail    json,
  -- What an intent was about to send, if a later attempt or the end of the job needs it.
  data      json,
  at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (job_id, n)
);
CALL limit_to_tenant('job_steps');
GRANT SELECT, INSERT, UPDATE, DELETE ON job_steps TO chartwire_service;

-- The jobs of a client that finished within half an hour, added up when first needed: a finished job does not change. A
-- chart of a week with a million jobs took 4.5 s from the jobs themselves.
CREATE TABLE job_periods (
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  at           timestamptz NOT NULL,
  succeeded    integer NOT NULL,
  partial      integer NOT NULL,
  failed       integer NOT NULL,
  needs_review integer NOT NULL,
  -- A histogram of durations since acceptance: pairs of a power of 1.1 in seconds and a number of jobs.
  durations    json NOT NULL,
  PRIMARY KEY (client_id, at)
);
CALL limit_to_tenant('job_periods');
GRANT SELECT, INSERT, UPDATE, DELETE ON job_periods TO chartwire_service;

-- Lanes ---------------------------------------------------------------------------------------------------------------

-- One row per non-empty lane. A claim over this table takes 0.2 ms; a NOT EXISTS over a million jobs took 415 ms.
-- `account_id` is that of the lane's first job: accounts take turns by it.
CREATE TABLE lanes (
  id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  client_id       uuid NOT NULL,
  organization_id uuid NOT NULL,
  account_id      uuid NOT NULL,
  key             text NOT NULL,
  parallel_max    integer NOT NULL,
  ready_at        timestamptz DEFAULT now(),
  locked_until    timestamptz,
  owner           text,
  fence           bigint NOT NULL DEFAULT 0,
  UNIQUE (organization_id, key)
);
CREATE INDEX lanes_ready ON lanes (account_id, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX lanes_locked ON lanes (locked_until) WHERE locked_until IS NOT NULL;
CALL limit_to_tenant('lanes');
CREATE POLICY crossing ON lanes TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON lanes TO chartwire_service;
-- `ready_at`: after a failover to a server whose clock is behind, leases and pauses that were set by the earlier clock lie
-- in the future. Workers find those that cannot be right and shorten them (see boundLeases and boundLanePauses).
GRANT SELECT, UPDATE (ready_at, locked_until, owner, fence) ON lanes TO chartwire_system;

-- Claims up to `free` lanes for a worker. One claim at a time in the whole installation, so that `parallel_max`, or the
-- measured limit of the account, applies across processes. The lock is taken and released within one statement: a client
-- that is frozen while it claims blocks nobody. PL/pgSQL, because the second statement of a function sees what was
-- committed while the first waited for the lock.
--
-- Slots are divided by client first. A row's rank is its place among its client's rows plus the number of slots that the
-- client holds in this worker, and a client gets a slot only while it holds fewer than are free: with 32 slots, a client
-- whose EMR hangs holds at most 16, the next one 8. Within a client, accounts take turns in the same way, up to their
-- limit. The distinct accounts are found by jumping through the index: ten thousand waiting lanes of one account cost one
-- jump.
--
-- `since` keeps the claim from reading deleted rows. While some transaction stays open, PostgreSQL keeps every deleted
-- version, and reading past 6,000 of them took 9 ms. Work is done in the order of `ready_at`, so nearly all of them are
-- older than the oldest row that waits, which the last row of the result gives for the next claim. What may be older
-- (expired leases, rows of slow transactions) is found by a claim since '-infinity' every second.
--
-- A claim is planned once per connection. With values, its plan looked cheaper than without, so that PostgreSQL planned
-- the statement at every claim: a third of its cost with a thousand accounts. The one plan must suit any number of rows:
-- each is found by an index, also if the plan was made while the tables were nearly empty.
CREATE FUNCTION claim_lanes(worker text, free integer, lease interval, since timestamptz)
  RETURNS TABLE (id uuid, client_id uuid, fence bigint, oldest timestamptz)
  LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  AS $body$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock(7240002);
  RETURN QUERY
  WITH RECURSIVE turns AS (
    (SELECT account_id AS member FROM lanes WHERE ready_at >= since ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM lanes WHERE ready_at >= since AND account_id > turns.member
            ORDER BY account_id LIMIT 1)
      FROM turns WHERE turns.member IS NOT NULL
  ), held AS MATERIALIZED (
    SELECT account_id AS member, client_id, owner FROM lanes WHERE locked_until > clock_timestamp()
  ), waiting AS (
    SELECT row.id, row.client_id, row.ready_at,
           (SELECT count(*) FROM held WHERE held.member = turns.member)
             + row_number() OVER (PARTITION BY turns.member ORDER BY row.ready_at) AS turn,
           coalesce(measured.parallel, row.parallel_max) AS parallel_max
      FROM turns LEFT JOIN write_limits AS measured ON measured.account_id = turns.member
      CROSS JOIN LATERAL (
        SELECT id, client_id, ready_at, parallel_max FROM lanes
         WHERE account_id = turns.member AND ready_at BETWEEN since AND clock_timestamp()
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
    SELECT row.id FROM lanes AS row JOIN placed USING (id)
     -- `free` slots minus those given to earlier places are left; a client gets no more than that.
     WHERE placed.place <= free AND placed.rank <= free - placed.place + 1
       FOR UPDATE OF row SKIP LOCKED
  ), claimed AS (
    UPDATE lanes AS row SET locked_until = clock_timestamp() + lease, owner = worker, fence = row.fence + 1
      FROM chosen WHERE row.id = chosen.id
    RETURNING row.id, row.client_id, row.fence
  )
  SELECT claimed.id, claimed.client_id, claimed.fence, NULL::timestamptz FROM claimed
  UNION ALL
  SELECT NULL, NULL, NULL, coalesce(min(waiting.ready_at), statement_timestamp() - interval '2 seconds') FROM waiting;
END $body$;
REVOKE ALL ON FUNCTION claim_lanes FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_lanes TO chartwire_system;

-- Runs as the owner, because a role sees no other role's transactions.
CREATE FUNCTION oldest_transaction_seconds() RETURNS double precision
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::double precision FROM pg_stat_activity
   WHERE datname = current_database() AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)
$$;
REVOKE ALL ON FUNCTION oldest_transaction_seconds FROM PUBLIC;
GRANT EXECUTE ON FUNCTION oldest_transaction_seconds TO chartwire_system;

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
