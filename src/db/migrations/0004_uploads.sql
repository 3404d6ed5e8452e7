-- The content of a document on its way to the EMR; it goes with the end of its job.
CREATE TABLE uploads (
  operation_id uuid PRIMARY KEY REFERENCES operations ON DELETE CASCADE,
  client_id    uuid NOT NULL,
  content      bytea NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now()
);
-- What is a PDF or a picture is compressed already.
ALTER TABLE uploads ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE uploads ENABLE ROW LEVEL SECURITY;
ALTER TABLE uploads FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON uploads TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON uploads TO chartwire_service;
