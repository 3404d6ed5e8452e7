-- The length of appointments whose request and visit type give none; null means 30 minutes.
ALTER TABLE organizations ADD COLUMN default_appointment_minutes integer
  CHECK (default_appointment_minutes BETWEEN 1 AND 1440);

-- Our id of an insurance record in the EMR: the same for its creation and for all of its updates.
CREATE TABLE patient_insurances (
  id               uuid PRIMARY KEY,
  client_id        uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id  uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  emr_insurance_id text NOT NULL,
  created_at       timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, emr_insurance_id)
);

ALTER TABLE patient_insurances ENABLE ROW LEVEL SECURITY;
ALTER TABLE patient_insurances FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON patient_insurances TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON patient_insurances TO chartwire_service;
