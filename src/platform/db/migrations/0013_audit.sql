-- The audit log, and what is derived from it.

-- The log -------------------------------------------------------------------------------------------------------------

-- It contains no health data: a patient is a keyed hash of client and MRN, under a key that is not in the database in plain
-- text. So the system role may see all rows, to record, to seal and to show them to operators. `client_id` is null for
-- actions that belong to no client; such a row is invisible to every tenant. No foreign keys: a record outlives its subject.
CREATE TABLE audit_records (
  id         uuid PRIMARY KEY,
  at         timestamptz NOT NULL,
  client_id  uuid,
  actor_kind text NOT NULL CHECK (actor_kind IN ('client', 'operator', 'link', 'practice', 'worker', 'system')),
  actor      text NOT NULL,
  -- Where the actor's request came from; null for actions of the service itself.
  address    text,
  account_id uuid,
  action     text NOT NULL,
  outcome    text NOT NULL,
  request_id uuid,
  job_id     bigint,
  subject    text,
  patients   bigint[] NOT NULL,
  detail     json,
  -- The records that the same process stored before this one, each named once. The MAC covers them, so that a record that
  -- was deleted before it joined the chain is missed by its id.
  follows    uuid[],
  -- Covers all of the above and is stored with the row: a change shows even before the record is part of the chain.
  mac        bytea NOT NULL,
  -- The place in the chain, set about a second later.
  position   bigint UNIQUE CHECK (position > 0),
  chain      bytea
);
CREATE INDEX audit_records_unsealed ON audit_records (id) WHERE position IS NULL;
CREATE INDEX audit_records_client ON audit_records (client_id, id);
CREATE INDEX audit_records_actor ON audit_records (actor, id);
CREATE INDEX audit_records_action ON audit_records (action, id);
CREATE INDEX audit_records_patients ON audit_records USING gin (patients);
CALL limit_to_tenant('audit_records');
CREATE POLICY crossing ON audit_records TO chartwire_system USING (true) WITH CHECK (true);
-- Records are added and read; nobody may change or remove one.
GRANT SELECT, INSERT ON audit_records TO chartwire_service;
GRANT SELECT, INSERT, UPDATE (position, chain) ON audit_records TO chartwire_system;

-- The end of the chain, in one row: without it a removed tail would leave no gap.
CREATE TABLE audit_head (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  position bigint NOT NULL,
  chain    bytea NOT NULL,
  mac      bytea NOT NULL
);
GRANT SELECT, INSERT, UPDATE (position, chain, mac) ON audit_head TO chartwire_system;

-- Fails a statement that stores audit records together with other rows, if fewer of them were stored than expected: a
-- trigger or a rule can drop rows without an error.
CREATE FUNCTION require_audit_records(stored bigint, expected bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF stored <> expected THEN
    RAISE EXCEPTION '% of % audit records were stored', stored, expected;
  END IF;
  RETURN true;
END $$;

-- How far the audit log was sent to the collector of the settings (AUDIT_COLLECTOR_URL), in one row. One process sends at
-- a time, by lease.
CREATE TABLE audit_collector (
  one           boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- The place in the chain of the last record that the collector has received.
  position      bigint NOT NULL DEFAULT 0,
  -- When the collector has accepted records last. While it catches up with an old log, its oldest record is old, and
  -- nothing is wrong.
  accepted_at   timestamptz,
  owner         text,
  fence         bigint NOT NULL DEFAULT 0,
  locked_until  timestamptz,
  -- The next attempt after a failure.
  next_at       timestamptz NOT NULL DEFAULT now(),
  failures      integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  failure       text
);
INSERT INTO audit_collector DEFAULT VALUES;
GRANT SELECT, UPDATE ON audit_collector TO chartwire_system;

-- Disclosures ---------------------------------------------------------------------------------------------------------

-- The accounting of disclosures: which data about a patient went to whom, one row per recipient, kind of access and day.
-- Collected from the audit log, whose records stay the evidence; `patient` is the mark of the patient in them. Like the
-- audit log, it outlives an erasure and contains no health data, so its columns refer to no other table.
CREATE TABLE disclosures (
  client_id       uuid NOT NULL,
  patient         bigint NOT NULL,
  -- The practice of the account; all zeros if the record names no account.
  organization_id uuid NOT NULL,
  -- In UTC.
  day             date NOT NULL,
  -- Hash of what tells the rows of a day apart: everything from `kind` to `confirmed`, except for the EMR's host.
  key             uuid NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('read', 'agent', 'stream', 'event', 'view', 'reveal', 'export', 'emr')),
  action          text NOT NULL,
  actor_kind      text NOT NULL,
  actor           text NOT NULL,
  account_id      uuid,
  -- Of an event: the webhook endpoint and the event type.
  endpoint_id     text,
  event_type      text,
  -- The host that an event or a write was sent to.
  destination     text,
  -- False: the receiver did not confirm the event, but may have read it.
  confirmed       boolean NOT NULL,
  -- Where requests came from: the first few addresses of the day.
  addresses       text[] NOT NULL,
  count           integer NOT NULL,
  first_at        timestamptz NOT NULL,
  last_at         timestamptz NOT NULL,
  PRIMARY KEY (client_id, patient, organization_id, day, key)
) WITH (fillfactor = 85);
CALL limit_to_tenant('disclosures');
CREATE POLICY crossing ON disclosures TO chartwire_system USING (true) WITH CHECK (true);
-- Nobody removes a row: the role that collects them cannot.
GRANT SELECT ON disclosures TO chartwire_service;
GRANT SELECT, INSERT, UPDATE (destination, addresses, count, first_at, last_at) ON disclosures TO chartwire_system;

-- How far the audit log has been collected.
CREATE TABLE disclosure_progress (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  position bigint NOT NULL,
  -- The record at this position, and its time; null before the first.
  id       uuid,
  at       timestamptz
);
INSERT INTO disclosure_progress (position) VALUES (0);
GRANT SELECT, UPDATE ON disclosure_progress TO chartwire_system;

-- How many different patients a client has read in an hour: the smallest of their marks, which are hashes, so that their
-- number follows from the largest of these.
CREATE TABLE patient_reads (
  client_id uuid NOT NULL,
  hour      timestamptz NOT NULL,
  marks     bigint[] NOT NULL,
  PRIMARY KEY (client_id, hour)
);
CALL limit_to_tenant('patient_reads');
CREATE POLICY crossing ON patient_reads TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, DELETE ON patient_reads TO chartwire_service;
GRANT SELECT, INSERT, UPDATE (marks), DELETE ON patient_reads TO chartwire_system;
