-- Of each type of record, one of our markers by which a record was found on an EMR server. Another account of the client at
-- the same address searches for it to see whether its own searches find our markers. The marker starts with the id of the
-- operation that created the record.
CREATE TABLE server_markers (
  client_id       uuid NOT NULL REFERENCES clients (id) ON DELETE CASCADE,
  emr_address     text NOT NULL,
  type            text NOT NULL,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  marker          text NOT NULL,
  found_at        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (client_id, emr_address, type)
);
CREATE INDEX server_markers_organization ON server_markers (organization_id);

ALTER TABLE server_markers ENABLE ROW LEVEL SECURITY;
ALTER TABLE server_markers FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON server_markers TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON server_markers TO chartwire_service;
