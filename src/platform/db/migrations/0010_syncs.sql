-- How far the lists of EMRs have been read.

-- Some EMRs can list what changed since a given time; records that were removed show only in a full read.
CREATE TABLE sync_passes (
  client_id         uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id   uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  kind              text NOT NULL,
  -- The sync that reads the list or read it last, and since when.
  run               bigint NOT NULL,
  started_at        timestamptz NOT NULL DEFAULT now(),
  -- Whether it reads the full list, or the changes since `since`.
  full_pass         boolean NOT NULL,
  since             timestamptz,
  -- The EMR's cursor: a later attempt of the same sync continues here.
  position          text,
  done              boolean NOT NULL DEFAULT false,
  -- Whether the pass left out records that a write of ours stored meanwhile. The next pass starts where this one did.
  skipped           boolean NOT NULL DEFAULT false,
  -- When the list was first read to its end, or refused by the EMR. Until then its records are incomplete.
  first_read_at     timestamptz,
  -- When the last finished pass started, and when the last finished full pass started.
  synced_as_of      timestamptz,
  full_as_of        timestamptz,
  -- Whether the pass also compares ids with the EMR's, and when a pass last did, to find deletions between full passes.
  find_deleted      boolean NOT NULL DEFAULT false,
  presence_as_of    timestamptz,
  -- A full pass that would remove an implausible share of a list removes nothing until an operator confirms it. When
  -- removals were last held back, how many records were stored then, and how many of them the EMR did not list.
  held_at           timestamptz,
  held_stored       integer,
  held_missing      integer,
  -- An operator confirmed them: the next full pass removes them.
  removal_confirmed boolean NOT NULL DEFAULT false,
  -- The rule for MRNs that the records were read with. If it is another one now, the list is read in full.
  mrn_rule          text NOT NULL DEFAULT '',
  PRIMARY KEY (organization_id, kind)
);
CALL limit_to_tenant('sync_passes');
CREATE POLICY crossing ON sync_passes TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON sync_passes TO chartwire_service;
-- For the alert about removals that wait for a confirmation.
GRANT SELECT (client_id, organization_id, kind, held_at, held_stored, held_missing, removal_confirmed)
  ON sync_passes TO chartwire_system;

-- How far the EMR's new documents were read, for the event `document.added`. Documents are not copied: the ids of those
-- that the last read listed are kept, because the next read begins some minutes before the end of the last one.
CREATE TABLE document_passes (
  organization_id uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  read_as_of      timestamptz NOT NULL,
  listed_ids      text[] NOT NULL
);
CALL limit_to_tenant('document_passes');
GRANT SELECT, INSERT, UPDATE, DELETE ON document_passes TO chartwire_service;

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
CALL limit_to_tenant('bulk_exports');
CREATE POLICY crossing ON bulk_exports TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON bulk_exports TO chartwire_service;
GRANT SELECT (organization_id, client_id, account_id, state, next_at) ON bulk_exports TO chartwire_system;

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
CALL limit_to_tenant('bulk_export_chunks');
GRANT SELECT, INSERT, UPDATE, DELETE ON bulk_export_chunks TO chartwire_service;
