-- Lists that an EMR prepares as files, which may take it hours: one export per organization at a time. After each step,
-- how far it has come is stored, so that the next sync continues there.
CREATE TABLE bulk_exports (
  organization_id   uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
  client_id         uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- Its session prepares the export, and its data key encrypts the files.
  account_id        uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  emr_address       text NOT NULL,
  target            text NOT NULL,
  types             text[] NOT NULL,
  -- kicking_off: the request may have been sent. running: the EMR prepares the files. downloading: they are being stored.
  -- reading: all are stored, and the lists are read from them.
  state             text NOT NULL CHECK (state IN ('kicking_off', 'running', 'downloading', 'reading', 'done', 'failed')),
  -- The sync that started it. What is written to the EMR since counts as newer than the export.
  run               bigint NOT NULL,
  -- Null: all records.
  since             text,
  started_at        timestamptz NOT NULL,
  -- The next step of one that runs, and the earliest start of the next one after the end.
  next_at           timestamptz NOT NULL,
  -- Consecutive ones of the EMR while it prepares the files, and exports that failed one after the other.
  errors_in_a_row   integer NOT NULL DEFAULT 0,
  failures          integer NOT NULL DEFAULT 0,
  -- Until the EMR has ended the export.
  status_url_sealed bytea,
  manifest_sealed   bytea,
  as_of             text,
  files             integer NOT NULL DEFAULT 0,
  files_done        integer NOT NULL DEFAULT 0,
  chunks            integer NOT NULL DEFAULT 0,
  names_deleted     boolean NOT NULL DEFAULT false,
  -- Records may be missing, because the EMR reported errors. `error_codes`: their codes, with how often.
  partial           boolean NOT NULL DEFAULT false,
  error_codes       jsonb NOT NULL DEFAULT '{}',
  failure           text,
  ended_at          timestamptz,
  -- Of the last export that was read to its end.
  last_as_of        text,
  last_full_at      timestamptz,
  last_types        text[]
);
CREATE UNIQUE INDEX bulk_exports_running ON bulk_exports (client_id, emr_address, target)
  WHERE state IN ('kicking_off', 'running', 'downloading', 'reading');
CREATE INDEX bulk_exports_due ON bulk_exports (next_at)
  WHERE state IN ('kicking_off', 'running', 'downloading', 'reading');
CREATE INDEX bulk_exports_account ON bulk_exports (account_id);

-- The files of an export, in parts of up to 200 records, encrypted with the data key of its account. They are deleted
-- when the lists were read.
CREATE TABLE bulk_export_chunks (
  organization_id uuid NOT NULL REFERENCES bulk_exports ON DELETE CASCADE,
  n               integer NOT NULL,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  file            integer NOT NULL,
  holds           text NOT NULL CHECK (holds IN ('records', 'deleted')),
  type            text NOT NULL,
  lines_sealed    bytea NOT NULL,
  PRIMARY KEY (organization_id, n)
);
CREATE INDEX bulk_export_chunks_type ON bulk_export_chunks (organization_id, holds, type, n);
CREATE INDEX bulk_export_chunks_client ON bulk_export_chunks (client_id);

ALTER TABLE bulk_exports ENABLE ROW LEVEL SECURITY;
ALTER TABLE bulk_exports FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON bulk_exports TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON bulk_exports TO chartwire_service;
CREATE POLICY crossing ON bulk_exports TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (organization_id, client_id, account_id, state, next_at) ON bulk_exports TO chartwire_system;

ALTER TABLE bulk_export_chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE bulk_export_chunks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON bulk_export_chunks TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON bulk_export_chunks TO chartwire_service;
