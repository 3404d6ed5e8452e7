-- Why documents wait for the scanner of the settings (DOCUMENT_SCANNER). A row counts for some minutes after its last
-- failure: the job that waits is tried again within one.
CREATE TABLE document_scanner_failures (
  problem text PRIMARY KEY CHECK (problem IN ('unavailable', 'size_limit')),
  since   timestamptz NOT NULL DEFAULT now(),
  last_at timestamptz NOT NULL DEFAULT now(),
  failure text NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON document_scanner_failures TO chartwire_system;
