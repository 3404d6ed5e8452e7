-- What an operator sees of deliveries, and the receiver that the service itself offers.

-- The beginning of a receiver's answer. A receiver may echo the event, so this may be health data: it lies behind the
-- same wall as the event's body and goes with it.
ALTER TABLE delivery_attempts ADD COLUMN snippet text;

-- The health of an endpoint: its tries of the last day, its last success.
CREATE INDEX delivery_attempts_at ON delivery_attempts (client_id, at);
CREATE INDEX deliveries_succeeded ON deliveries (endpoint_id, finished_at DESC) WHERE status = 'success';

-- One per client, and never without the endpoint that it is: whoever removes the endpoint removes what was received.
CREATE TABLE receivers (
  client_id    uuid PRIMARY KEY REFERENCES clients ON DELETE CASCADE,
  endpoint_id  text NOT NULL UNIQUE REFERENCES webhook_endpoints ON DELETE CASCADE,
  -- Of the key that stands in its address.
  key_hash     bytea NOT NULL UNIQUE,
  -- How it answers; null closes the connection without an answer.
  status       integer DEFAULT 200 CHECK (status BETWEEN 200 AND 599),
  delay_ms     integer NOT NULL DEFAULT 0 CHECK (delay_ms BETWEEN 0 AND 20000),
  -- How many requests are still answered so before it is well again; null: all of them.
  times        integer CHECK (times > 0),
  created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE received_requests (
  id           uuid PRIMARY KEY,
  client_id    uuid NOT NULL REFERENCES receivers ON DELETE CASCADE,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  method       text NOT NULL,
  headers      json NOT NULL,
  body         text NOT NULL,
  body_bytes   integer NOT NULL,
  -- What its signature was worth when it came.
  verdict      text NOT NULL CHECK (verdict IN ('valid', 'wrong', 'late', 'missing')),
  -- What it called itself, as far as it did.
  event_id     text,
  event_type   text,
  attempt      text,
  status       integer,
  delay_ms     integer NOT NULL
);
CREATE INDEX received_requests_client ON received_requests (client_id, id DESC);
CREATE INDEX received_requests_at ON received_requests (at);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['receivers', 'received_requests']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO chartwire_service
      USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
      WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))$policy$, name);
    EXECUTE format('CREATE POLICY crossing ON %I TO chartwire_system USING (true) WITH CHECK (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO chartwire_service', name);
  END LOOP;
END $$;
-- Whose receiver an address is, and what is old.
GRANT SELECT (client_id, key_hash) ON receivers TO chartwire_system;
GRANT SELECT (id, at), DELETE ON received_requests TO chartwire_system;
