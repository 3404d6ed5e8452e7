-- Who saw what, and what was asked over HTTP.
--
-- Neither table holds health data: a patient is a mark, a keyed hash of client and MRN under a key that never stands in
-- the database in the clear. So the system role may cross tenants here, to record, to chain and to show operators.
-- `client_id` is null for acts above the tenants; the wall's comparison then gives null, and such a row is no tenant's.

-- Keys of the installation itself, above the tenants, wrapped by the master key as data keys are.
CREATE TABLE system_keys (
  name          text PRIMARY KEY,
  master_key_id text NOT NULL,
  wrapped       bytea NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now()
);

-- Nothing here refers to another table: a record outlives whom it is about.
CREATE TABLE audit_records (
  id         uuid PRIMARY KEY,
  at         timestamptz NOT NULL,
  client_id  uuid,
  actor_kind text NOT NULL CHECK (actor_kind IN ('client', 'operator', 'link', 'worker', 'system')),
  actor      text NOT NULL,
  account_id uuid,
  action     text NOT NULL,
  outcome    text NOT NULL,
  request_id uuid,
  job_id     bigint,
  subject    text,
  patients   bigint[] NOT NULL,
  detail     json,
  -- Over all of the above, made with the row: a changed field shows before the row has its place in the chain.
  mac        bytea NOT NULL,
  -- The place in the chain and its link, given by the sealer about a second later.
  position   bigint UNIQUE,
  chain      bytea
);
CREATE INDEX audit_records_unsealed ON audit_records (id) WHERE position IS NULL;
CREATE INDEX audit_records_client ON audit_records (client_id, id);
CREATE INDEX audit_records_actor ON audit_records (actor, id);
CREATE INDEX audit_records_action ON audit_records (action, id);
CREATE INDEX audit_records_patients ON audit_records USING gin (patients);

-- How far the chain reaches, in one row: without it a tail that was cut off would leave no gap.
CREATE TABLE audit_head (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  position bigint NOT NULL,
  chain    bytea NOT NULL,
  mac      bytea NOT NULL
);

-- Whom an event or an appointment is about, for the records of those who read it. Not looked up in the text itself: one
-- escape in it that PostgreSQL does not know would make the whole unreadable.
ALTER TABLE events ADD COLUMN mrns text[] NOT NULL DEFAULT '{}';
ALTER TABLE appointments ADD COLUMN patient_mrn text;

-- Requests of the last days: no body, no address, only the endpoint's name.
CREATE TABLE requests (
  id          uuid PRIMARY KEY,
  at          timestamptz NOT NULL,
  client_id   uuid,
  account_id  uuid,
  endpoint    text NOT NULL,
  method      text NOT NULL,
  status      integer NOT NULL,
  duration_ms integer NOT NULL,
  code        text
);
CREATE INDEX requests_client ON requests (client_id, id);
-- Failures are few and what one looks for.
CREATE INDEX requests_failed ON requests (id) WHERE status >= 400;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['audit_records', 'requests']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO chartwire_service
      USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
      WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))$policy$, name);
    EXECUTE format('CREATE POLICY crossing ON %I TO chartwire_system USING (true) WITH CHECK (true)', name);
  END LOOP;
END $$;

-- Records are added and read; nobody may change what they say, or remove one.
GRANT SELECT, INSERT ON audit_records TO chartwire_service;
GRANT SELECT, INSERT, UPDATE (position, chain) ON audit_records TO chartwire_system;
GRANT SELECT ON requests TO chartwire_service;
GRANT SELECT, INSERT, DELETE ON requests TO chartwire_system;
GRANT SELECT, INSERT, UPDATE (position, chain, mac) ON audit_head TO chartwire_system;
GRANT SELECT, INSERT, UPDATE (master_key_id, wrapped) ON system_keys TO chartwire_system;
