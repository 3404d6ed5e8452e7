-- How long data is kept, and what was deleted.

-- How long data of a client is kept, if not as long as the settings say.
CREATE TABLE retention_periods (
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  data       text NOT NULL CHECK (data IN ('events', 'job_inputs', 'unlinked_records', 'requests')),
  days       integer NOT NULL CHECK (days BETWEEN 1 AND 3650),
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (client_id, data)
);
CALL limit_to_tenant('retention_periods');
CREATE POLICY crossing ON retention_periods TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON retention_periods TO chartwire_service;
GRANT SELECT (client_id, data, days) ON retention_periods TO chartwire_system;

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
CALL limit_to_tenant('legal_holds');
CREATE POLICY crossing ON legal_holds TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON legal_holds TO chartwire_service;
GRANT SELECT (id, client_id, covers, organization_id, lifted_at) ON legal_holds TO chartwire_system;

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
CALL limit_to_tenant('disposals');
CREATE POLICY crossing ON disposals TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (rows, last_at) ON disposals TO chartwire_service, chartwire_system;

-- Patients that were erased, as keyed hashes: a sync does not store them again.
CREATE TABLE erased_patients (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  patient_hash    bytea NOT NULL,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  created_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, patient_hash)
);
CALL limit_to_tenant('erased_patients');
GRANT SELECT, INSERT, UPDATE, DELETE ON erased_patients TO chartwire_service;

-- Tables from which an erasure deleted rows, or in which it may have left traces of rows that were deleted earlier.
-- PostgreSQL keeps the bytes of deleted rows in the table's files until the space is reused. A backup of the files
-- therefore rewrites these tables first, and then removes them from this list.
CREATE TABLE erased_tables (
  name      text PRIMARY KEY,
  erased_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON erased_tables TO chartwire_service;
