-- How far the EMR's new documents were read, for the event `document.added`. Documents are not copied: the ids of those
-- that the last read listed are kept, because the next read begins some minutes before the end of the last one.
CREATE TABLE document_passes (
  organization_id uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  read_as_of      timestamptz NOT NULL,
  listed_ids      text[] NOT NULL
);

ALTER TABLE document_passes ENABLE ROW LEVEL SECURITY;
ALTER TABLE document_passes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON document_passes TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON document_passes TO chartwire_service;
