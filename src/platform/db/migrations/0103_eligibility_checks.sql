-- Eligibility checks of patients' insurances, as insurers answered them.
CREATE TABLE eligibility_checks (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  service_date    date NOT NULL,
  patient_mrn     text,
  coverage_status text NOT NULL,
  doc             json NOT NULL,
  -- The lines of the answer, which only the list of one check's benefits reads: there can be hundreds.
  benefits        json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
-- Each filter is followed by the order of the list, so that a page reads only the rows it shows.
CREATE INDEX eligibility_checks_dates ON eligibility_checks (client_id, organization_id, service_date DESC, id);
CREATE INDEX eligibility_checks_patient
  ON eligibility_checks (client_id, organization_id, patient_mrn, service_date DESC, id);
CREATE INDEX eligibility_checks_status
  ON eligibility_checks (client_id, organization_id, coverage_status, service_date DESC, id);
CREATE INDEX eligibility_checks_by_id ON eligibility_checks (client_id, organization_id, id);

ALTER TABLE eligibility_checks ENABLE ROW LEVEL SECURITY;
ALTER TABLE eligibility_checks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON eligibility_checks TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON eligibility_checks TO chartwire_service;

CREATE TRIGGER eligibility_checks_added AFTER INSERT ON eligibility_checks REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_records();
CREATE TRIGGER eligibility_checks_removed AFTER DELETE ON eligibility_checks REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION uncount_records();
