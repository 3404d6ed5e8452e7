-- Charts that were merged into another one in the EMR. Requests that still name their MRN are for the surviving chart.
-- `merged_into`: its EMR id, which may itself have been merged since.
CREATE TABLE merged_charts (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  mrn             text NOT NULL,
  merged_into     text NOT NULL,
  PRIMARY KEY (organization_id, ehr_id)
);
CREATE INDEX merged_charts_mrn ON merged_charts (client_id, organization_id, mrn);

ALTER TABLE merged_charts ENABLE ROW LEVEL SECURITY;
ALTER TABLE merged_charts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON merged_charts TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON merged_charts TO chartwire_service;

-- A full pass lists the charts that were merged before.
UPDATE sync_passes SET full_as_of = NULL WHERE kind = 'patients';
