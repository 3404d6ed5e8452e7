-- The installation itself: its processes, restores, and the problems that operators are notified of.

-- Processes of this installation. Each one updates its row every few seconds, so that the others, and operators, know
-- whether it still runs. `working`: it runs jobs and deliveries, and its workers are not stuck.
CREATE TABLE processes (
  id         uuid PRIMARY KEY,
  role       text NOT NULL CHECK (role IN ('all', 'api', 'worker')),
  host       text NOT NULL,
  version    text NOT NULL,
  working    boolean NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at    timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON processes TO chartwire_system;

-- Restores from a backup. It is not known what the operations in a backup did after it was made: their writes are looked up
-- in the EMR by their markers before anything is sent. The owner adds the rows.
CREATE TABLE restores (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  restored_at     timestamptz NOT NULL DEFAULT now(),
  -- Everything that was committed before this time is in the backup.
  backup_at       timestamptz NOT NULL,
  unfinished_jobs integer NOT NULL,
  -- The highest id of a job, and the highest number of a step, that the backup can contain.
  last_job_id     bigint NOT NULL,
  last_step       bigint NOT NULL
);
GRANT SELECT ON restores TO chartwire_system;
-- Read with the steps of a job: which jobs a restored backup contained.
GRANT SELECT (id, restored_at, last_job_id, last_step) ON restores TO chartwire_service;

-- Why documents wait for the scanner of the settings (DOCUMENT_SCANNER). A row counts for some minutes after its last
-- failure: the job that waits is attempted again within one.
CREATE TABLE document_scanner_failures (
  problem text PRIMARY KEY CHECK (problem IN ('unavailable', 'size_limit')),
  since   timestamptz NOT NULL DEFAULT now(),
  last_at timestamptz NOT NULL DEFAULT now(),
  failure text NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON document_scanner_failures TO chartwire_system;

-- Problems that operators are notified of. One row per problem and subject, from when it is first seen until it is gone.
CREATE TABLE alerts (
  id                     uuid PRIMARY KEY,
  -- A code of the catalogue of alerts.
  code                   text NOT NULL,
  -- What has the problem: the id of an endpoint or an account, the name of a queue.
  subject                text NOT NULL,
  -- Null: a problem of the whole installation.
  client_id              uuid REFERENCES clients ON DELETE CASCADE,
  organization_id        uuid REFERENCES organizations ON DELETE CASCADE,
  -- Ids and counts for people, and the dashboard page to open. Never health data.
  summary                text NOT NULL,
  page                   text NOT NULL,
  -- How many there are, for alerts about several things. A higher number than the notified one is worth a reminder.
  count                  integer NOT NULL,
  opened_at              timestamptz NOT NULL,
  last_seen_at           timestamptz NOT NULL,
  -- When its messages were queued, and how many there were then.
  notified_at            timestamptz,
  notified_count         integer,
  reminded_at            timestamptz,
  reminders              integer NOT NULL DEFAULT 0,
  resolved_at            timestamptz,
  resolution_notified_at timestamptz
);
CREATE UNIQUE INDEX alerts_open ON alerts (code, subject) WHERE resolved_at IS NULL;
CREATE INDEX alerts_resolved ON alerts (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX alerts_client ON alerts (client_id);
CREATE INDEX alerts_organization ON alerts (organization_id);
CALL limit_to_tenant('alerts');
CREATE POLICY crossing ON alerts TO chartwire_system USING (true) WITH CHECK (true);
-- For erasure.
GRANT SELECT, DELETE ON alerts TO chartwire_service;
GRANT SELECT, INSERT, DELETE, UPDATE (summary, page, count, last_seen_at, notified_at, notified_count, reminded_at,
  reminders, resolved_at, resolution_notified_at) ON alerts TO chartwire_system;

-- Messages about alerts, one per channel. Queued in the transaction that marks their alerts as notified, so that a crash
-- neither loses nor repeats one. The text is made from the alerts when it is sent: what was erased is not in it.
CREATE TABLE alert_messages (
  -- The same at every attempt, so that receivers can detect duplicates.
  id         uuid PRIMARY KEY,
  channel    text NOT NULL CHECK (channel IN ('email', 'webhook')),
  opened     uuid[] NOT NULL,
  reminded   uuid[] NOT NULL,
  resolved   uuid[] NOT NULL,
  -- The day of a daily summary, in its time zone. A summary lists its alerts in `reminded`.
  digest_on  date,
  created_at timestamptz NOT NULL,
  -- When it is attempted next. While it is being sent, when another process may attempt it. Null: sent or given up.
  ready_at   timestamptz,
  attempts   integer NOT NULL DEFAULT 0,
  sent_at    timestamptz,
  problem    text,
  UNIQUE (channel, digest_on)
);
CREATE INDEX alert_messages_ready ON alert_messages (channel, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX alert_messages_created ON alert_messages (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON alert_messages TO chartwire_system;
