-- Events, and the webhook endpoints that they are delivered to.

-- Events --------------------------------------------------------------------------------------------------------------

CREATE TABLE events (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL,
  account_id      uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  job_id          bigint REFERENCES jobs ON DELETE CASCADE,
  type            text NOT NULL,
  -- The body as it is sent: the same bytes at every attempt, so that a signature can be checked again later.
  body            text NOT NULL,
  -- The patients of the event, for audit records; not read from the body, for the same reason as in appointments.
  mrns            text[] NOT NULL DEFAULT '{}',
  -- The event of a change that a sync found. Only endpoints with `sync_events` get it.
  from_sync       boolean NOT NULL DEFAULT false,
  delivery_status text CHECK (delivery_status IN ('pending', 'success', 'failed')),
  -- The span that sent the event, for links from its deliveries, as in jobs.
  traceparent     text CHECK (traceparent ~ '^[0-9a-f-]{55}$'),
  created_at      timestamptz NOT NULL DEFAULT now()
);
-- A job finishes with exactly one event; a second one cannot be committed.
CREATE UNIQUE INDEX events_terminal ON events (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX events_by_id ON events (client_id, account_id, id);
CREATE INDEX events_account ON events (client_id, account_id, created_at DESC, id DESC);
CREATE INDEX events_type ON events (client_id, account_id, type, created_at DESC, id DESC);
CREATE INDEX events_status ON events (client_id, account_id, delivery_status, created_at DESC, id DESC);
-- The dashboard lists the events of all accounts of a client. Reading the newest of each account took five times as long
-- with a thousand accounts. The purge reads each client by this index too.
CREATE INDEX events_newest ON events (client_id, created_at DESC, id DESC);
CALL limit_to_tenant('events');
CREATE POLICY crossing ON events TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON events TO chartwire_service;
GRANT SELECT (id, client_id, created_at), DELETE ON events TO chartwire_system;

-- Totals of an account's older events, of each type and ('') of all, so that a page need not count a million of them.
-- Counted when a page finds many that are not in a total; a write costs nothing. A total covers the events after
-- counted_from and up to counted_to, and all totals of an account cover the same time.
CREATE TABLE event_counts (
  account_id   uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  type         text NOT NULL,
  counted_from timestamptz NOT NULL,
  counted_to   timestamptz NOT NULL,
  total        bigint NOT NULL CHECK (total >= 0),
  PRIMARY KEY (account_id, type)
);
CALL limit_to_tenant('event_counts');
-- The purge deletes events of all tenants.
CREATE POLICY crossing ON event_counts TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON event_counts TO chartwire_service;
GRANT SELECT (account_id, type, counted_from, counted_to, total), UPDATE (total) ON event_counts TO chartwire_system;

-- Held by whoever counts the events of an account, and shared by those that delete some. Otherwise a count could include
-- events whose deletion is not committed yet, and the deletion would find no total to change.
CREATE FUNCTION event_counts_lock(account_id uuid) RETURNS bigint LANGUAGE sql IMMUTABLE
  RETURN hashtextextended('chartwire.event_counts ' || account_id, 0);

CREATE FUNCTION uncount_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(event_counts_lock(account_id))
    FROM (SELECT DISTINCT account_id FROM deleted ORDER BY account_id) AS accounts;
  UPDATE event_counts AS counted SET total = counted.total - gone.n
    FROM (SELECT counted.account_id, counted.type, count(*) AS n
            FROM deleted JOIN event_counts AS counted ON counted.account_id = deleted.account_id
             AND counted.type IN ('', deleted.type)
             AND deleted.created_at > counted.counted_from AND deleted.created_at <= counted.counted_to
           GROUP BY counted.account_id, counted.type ORDER BY counted.account_id, counted.type) AS gone
   WHERE counted.account_id = gone.account_id AND counted.type = gone.type;
  RETURN NULL;
END $$;

CREATE TRIGGER uncount AFTER DELETE ON events REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION uncount_events();

-- Webhook endpoints ---------------------------------------------------------------------------------------------------

CREATE TABLE webhook_endpoints (
  id                     text PRIMARY KEY,
  client_id              uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  url                    text NOT NULL,
  status                 text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  disabled_reason        text,
  -- What the endpoint receives: only events of these types and organizations (the client's own IDs), null for all; and
  -- whether also events of changes that staff made in the EMR.
  event_types            text[],
  org_ids                text[],
  sync_events            boolean NOT NULL DEFAULT false,
  -- Deliveries to a paused endpoint wait until it is resumed.
  paused_at              timestamptz,
  -- Only the first failure and the next success of an endpoint change it.
  failing_since          timestamptz,
  -- The certificate (PEM, with its chain) and the private key that the service presents to the receiver.
  certificate            text,
  certificate_key_sealed bytea,
  certificate_expires_at timestamptz,
  created_at             timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_endpoints_client ON webhook_endpoints (client_id, created_at);
-- For readiness and metrics, which are read often and must not scan the endpoints of all clients.
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since) WHERE failing_since IS NOT NULL;
CALL limit_to_tenant('webhook_endpoints');
CREATE POLICY crossing ON webhook_endpoints TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_endpoints TO chartwire_service;
-- For claims and alerts.
GRANT SELECT (id, client_id, status, paused_at, failing_since, certificate_expires_at) ON webhook_endpoints
  TO chartwire_system;

CREATE TABLE webhook_secrets (
  id            uuid PRIMARY KEY,
  client_id     uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  endpoint_id   text NOT NULL REFERENCES webhook_endpoints ON DELETE CASCADE,
  secret_sealed bytea NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now(),
  -- Null: the newest secret, which does not expire.
  expires_at    timestamptz
);
CREATE INDEX webhook_secrets_endpoint ON webhook_secrets (endpoint_id, created_at DESC);
CALL limit_to_tenant('webhook_secrets');
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_secrets TO chartwire_service;

-- Deliveries ----------------------------------------------------------------------------------------------------------

CREATE TABLE deliveries (
  id            uuid PRIMARY KEY,
  client_id     uuid NOT NULL,
  event_id      uuid NOT NULL REFERENCES events ON DELETE CASCADE,
  endpoint_id   text NOT NULL REFERENCES webhook_endpoints ON DELETE CASCADE,
  status        text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'success', 'failed')),
  attempts      integer NOT NULL DEFAULT 0,
  -- Attempts made before the retry schedule was last restarted (by a resend); attempt numbers continue.
  schedule_from integer NOT NULL DEFAULT 0,
  -- Null: nothing left to do.
  ready_at      timestamptz DEFAULT now(),
  locked_until  timestamptz,
  owner         text,
  fence         bigint NOT NULL DEFAULT 0,
  created_at    timestamptz NOT NULL DEFAULT now(),
  finished_at   timestamptz,
  UNIQUE (event_id, endpoint_id)
);
-- The deliveries of an endpoint, newest first: ids are time-ordered. Without it the removal of an endpoint would read every
-- delivery.
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_ready ON deliveries (endpoint_id, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX deliveries_locked ON deliveries (locked_until) WHERE locked_until IS NOT NULL;
CREATE INDEX deliveries_succeeded ON deliveries (endpoint_id, finished_at DESC) WHERE status = 'success';
CALL limit_to_tenant('deliveries');
CREATE POLICY crossing ON deliveries TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON deliveries TO chartwire_service;
-- `ready_at`: as for lanes (see boundDeliveryPauses).
GRANT SELECT, UPDATE (ready_at, locked_until, owner, fence) ON deliveries TO chartwire_system;

CREATE TABLE delivery_attempts (
  delivery_id uuid NOT NULL REFERENCES deliveries ON DELETE CASCADE,
  attempt     integer NOT NULL,
  client_id   uuid NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  duration_ms integer NOT NULL,
  -- Null: there was no response; `problem` gives the reason.
  status_code integer,
  problem     text,
  -- The beginning of the response. A receiver may echo the event, so this can be health data: it is protected like the
  -- event's body and deleted with it.
  snippet     text,
  -- The host that has, or may have, received the event by this attempt; null if it cannot have. The audit log contains one
  -- record of the failed attempts with the same host.
  sent_to     text,
  -- What the attempt was signed with: the webhook-timestamp and webhook-signature headers, never the secret.
  signed_at_s bigint,
  signature   text,
  PRIMARY KEY (delivery_id, attempt)
);
CREATE INDEX delivery_attempts_at ON delivery_attempts (client_id, at);
CALL limit_to_tenant('delivery_attempts');
CREATE POLICY crossing ON delivery_attempts TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON delivery_attempts TO chartwire_service;
-- The time of an attempt shows which clock set the pause after it.
GRANT SELECT (delivery_id, attempt, at) ON delivery_attempts TO chartwire_system;

-- Claims deliveries for a worker, as claim_lanes claims lanes (0011), with endpoints in place of accounts. 20 at once to an
-- endpoint, which leave room for other endpoints of the client, which gets 32 of the 64 slots of a worker; 4 if it is
-- failing; none if it is paused.
CREATE FUNCTION claim_deliveries(worker text, free integer, lease interval, since timestamptz)
  RETURNS TABLE (id uuid, client_id uuid, fence bigint, oldest timestamptz)
  LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  AS $body$
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
REVOKE ALL ON FUNCTION claim_deliveries FROM PUBLIC;
GRANT EXECUTE ON FUNCTION claim_deliveries TO chartwire_system;

-- The test receiver ---------------------------------------------------------------------------------------------------

-- The receiver that the service offers for tests: one per client, deleted with its endpoint.
CREATE TABLE receivers (
  client_id   uuid PRIMARY KEY REFERENCES clients ON DELETE CASCADE,
  endpoint_id text NOT NULL UNIQUE REFERENCES webhook_endpoints ON DELETE CASCADE,
  -- Hash of the key in its URL.
  key_hash    bytea NOT NULL UNIQUE,
  -- The status it responds with; null closes the connection without a response.
  status      integer DEFAULT 200 CHECK (status BETWEEN 200 AND 599),
  delay_ms    integer NOT NULL DEFAULT 0 CHECK (delay_ms BETWEEN 0 AND 20000),
  -- How many more requests get this response before it responds normally; null: all of them.
  times       integer CHECK (times > 0),
  created_at  timestamptz NOT NULL DEFAULT now()
);
CALL limit_to_tenant('receivers');
CREATE POLICY crossing ON receivers TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON receivers TO chartwire_service;
GRANT SELECT (client_id, key_hash) ON receivers TO chartwire_system;

CREATE TABLE received_requests (
  id         uuid PRIMARY KEY,
  client_id  uuid NOT NULL REFERENCES receivers ON DELETE CASCADE,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  method     text NOT NULL,
  headers    json NOT NULL,
  body       text NOT NULL,
  body_bytes integer NOT NULL,
  -- The result of checking its signature on arrival.
  verdict    text NOT NULL CHECK (verdict IN ('valid', 'wrong', 'late', 'missing')),
  -- From its headers and body, where present.
  event_id   text,
  event_type text,
  attempt    text,
  -- The response, as in receivers.
  status     integer,
  delay_ms   integer NOT NULL
);
CREATE INDEX received_requests_client ON received_requests (client_id, id DESC);
CREATE INDEX received_requests_at ON received_requests (at);
CALL limit_to_tenant('received_requests');
CREATE POLICY crossing ON received_requests TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON received_requests TO chartwire_service;
GRANT SELECT (id, at), DELETE ON received_requests TO chartwire_system;
