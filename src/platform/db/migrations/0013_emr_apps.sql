-- Our registrations at EMRs. An operator configures them, so that clinic staff need not enter a client ID.

CREATE TABLE emr_apps (
  id                 uuid PRIMARY KEY,
  client_id          uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- Shown in Link instead of the EMR's name.
  name               text NOT NULL,
  logo               text,
  connector          text NOT NULL,
  -- Null: used for every address without an app of its own.
  emr_address        text,
  -- The sign-in method and its fields.
  credentials_sealed bytea NOT NULL,
  created_at         timestamptz NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (client_id, connector, emr_address)
);

ALTER TABLE accounts ADD COLUMN emr_app_id uuid REFERENCES emr_apps ON DELETE SET NULL;
ALTER TABLE link_tokens ADD COLUMN emr_app_id uuid REFERENCES emr_apps ON DELETE SET NULL;
CREATE INDEX accounts_emr_app ON accounts (emr_app_id) WHERE emr_app_id IS NOT NULL;
CREATE INDEX link_tokens_emr_app ON link_tokens (emr_app_id) WHERE emr_app_id IS NOT NULL;

ALTER TABLE emr_apps ENABLE ROW LEVEL SECURITY;
ALTER TABLE emr_apps FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON emr_apps TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON emr_apps TO chartwire_service;
