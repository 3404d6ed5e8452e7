-- How long data of a client is kept, if not as long as the settings say.
CREATE TABLE retention_periods (
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  data       text NOT NULL CHECK (data IN ('events', 'job_inputs', 'unlinked_records', 'requests')),
  days       integer NOT NULL CHECK (days BETWEEN 1 AND 3650),
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (client_id, data)
);

-- While a hold is not lifted, neither a retention period nor an erasure deletes what it covers.
CREATE TABLE legal_holds (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  covers          text NOT NULL CHECK (covers IN ('client', 'organization', 'patient')),
  organization_id uuid REFERENCES organizations ON DELETE CASCADE,
  -- Our id, the EMR's id and the MRN, as far as they were known.
  patient_id      uuid,
  patient_ehr_id  text,
  patient_mrn     text,
  -- What the operator calls the case.
  reference       text NOT NULL,
  placed_by       text NOT NULL,
  placed_at       timestamptz NOT NULL DEFAULT now(),
  lifted_by       text,
  lifted_at       timestamptz,
  CHECK ((covers = 'client') = (organization_id IS NULL)),
  CHECK (covers = 'patient' OR coalesce(patient_id::text, patient_ehr_id, patient_mrn) IS NULL),
  CHECK (covers <> 'patient' OR coalesce(patient_id::text, patient_mrn) IS NOT NULL)
);
CREATE INDEX legal_holds_active ON legal_holds (client_id) WHERE lifted_at IS NULL;
CREATE INDEX legal_holds_organization ON legal_holds (organization_id) WHERE organization_id IS NOT NULL;

-- What was deleted, by day (UTC) and rule. It has no foreign keys and no health data: like the audit log, it outlives the
-- client whose data was deleted. `data`: a kind of retention_periods, or the table of an erasure.
CREATE TABLE disposals (
  client_id uuid NOT NULL,
  -- Its public ID.
  client    text NOT NULL,
  day       date NOT NULL,
  data      text NOT NULL,
  rule      text NOT NULL CHECK (rule IN ('setting', 'client_period', 'erase_client', 'erase_organization', 'erase_patient')),
  -- The period; 0 for an erasure.
  days      integer NOT NULL,
  rows      bigint NOT NULL,
  first_at  timestamptz NOT NULL DEFAULT now(),
  last_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (client_id, day, data, rule, days)
);
CREATE INDEX disposals_day ON disposals (day);

ALTER TABLE retention_periods ENABLE ROW LEVEL SECURITY;
ALTER TABLE retention_periods FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON retention_periods TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON retention_periods TO chartwire_service;
CREATE POLICY crossing ON retention_periods TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (client_id, data, days) ON retention_periods TO chartwire_system;

ALTER TABLE legal_holds ENABLE ROW LEVEL SECURITY;
ALTER TABLE legal_holds FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON legal_holds TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON legal_holds TO chartwire_service;
CREATE POLICY crossing ON legal_holds TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (id, client_id, covers, organization_id, lifted_at) ON legal_holds TO chartwire_system;

ALTER TABLE disposals ENABLE ROW LEVEL SECURITY;
ALTER TABLE disposals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON disposals TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE (rows, last_at) ON disposals TO chartwire_service;
CREATE POLICY crossing ON disposals TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (rows, last_at) ON disposals TO chartwire_system;

-- May place and lift legal holds.
ALTER TABLE operators ADD COLUMN may_hold boolean NOT NULL DEFAULT false;
ALTER TABLE operator_invitations ADD COLUMN may_hold boolean NOT NULL DEFAULT false;
