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

-- How far the audit log has been collected.
CREATE TABLE disclosure_progress (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  position bigint NOT NULL,
  -- The record at this position, and its time; null before the first.
  id       uuid,
  at       timestamptz
);
INSERT INTO disclosure_progress (position) VALUES (0);

-- How many different patients a client has read in an hour: the smallest of their marks, which are hashes, so that their
-- number follows from the largest of these.
CREATE TABLE patient_reads (
  client_id uuid NOT NULL,
  hour      timestamptz NOT NULL,
  marks     bigint[] NOT NULL,
  PRIMARY KEY (client_id, hour)
);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['disclosures', 'patient_reads']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO chartwire_service
      USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
      WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))$policy$, name);
    EXECUTE format('CREATE POLICY crossing ON %I TO chartwire_system USING (true) WITH CHECK (true)', name);
  END LOOP;
END $$;
-- Nobody removes a row: the role that collects them cannot.
GRANT SELECT, INSERT, UPDATE (destination, addresses, count, first_at, last_at) ON disclosures TO chartwire_system;
GRANT SELECT, UPDATE ON disclosure_progress TO chartwire_system;
GRANT SELECT, INSERT, UPDATE (marks), DELETE ON patient_reads TO chartwire_system;
GRANT SELECT ON disclosures TO chartwire_service;
GRANT SELECT, DELETE ON patient_reads TO chartwire_service;

-- Whether the operator may see the accounting of disclosures of a patient.
ALTER TABLE operators ADD COLUMN may_see_disclosures boolean NOT NULL DEFAULT false;
ALTER TABLE operator_invitations ADD COLUMN may_see_disclosures boolean NOT NULL DEFAULT false;
-- Owners can give it to others, so those that exist have it.
UPDATE operators SET may_see_disclosures = true WHERE role = 'owner';
