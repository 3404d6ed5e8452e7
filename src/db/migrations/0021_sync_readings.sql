-- How far each list of an EMR has been read. Some EMRs can be asked for what changed since an instant; what is gone shows
-- only where a list is read as a whole.
CREATE TABLE sync_readings (
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  kind            text NOT NULL,
  -- The sync that reads it or read it last, and since when.
  run             bigint NOT NULL,
  began_at        timestamptz NOT NULL DEFAULT now(),
  whole           boolean NOT NULL,
  since           timestamptz,
  -- How far it came, in the EMR's own words: a later try of the same sync goes on from here.
  through         text,
  done            boolean NOT NULL DEFAULT false,
  -- When the last reading that came to its end had begun, and the last of those that was whole.
  read_at         timestamptz,
  whole_at        timestamptz,
  PRIMARY KEY (organization_id, kind)
);
ALTER TABLE sync_readings ENABLE ROW LEVEL SECURITY;
ALTER TABLE sync_readings FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sync_readings TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON sync_readings TO chartwire_service;
