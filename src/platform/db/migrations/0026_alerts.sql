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
  count                  int NOT NULL,
  opened_at              timestamptz NOT NULL,
  last_seen_at           timestamptz NOT NULL,
  -- When its messages were queued, and how many there were then.
  notified_at            timestamptz,
  notified_count         int,
  reminded_at            timestamptz,
  reminders              int NOT NULL DEFAULT 0,
  resolved_at            timestamptz,
  resolution_notified_at timestamptz
);
CREATE UNIQUE INDEX alerts_open ON alerts (code, subject) WHERE resolved_at IS NULL;
CREATE INDEX alerts_resolved ON alerts (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX alerts_client ON alerts (client_id);
CREATE INDEX alerts_organization ON alerts (organization_id);
ALTER TABLE alerts ENABLE ROW LEVEL SECURITY;
ALTER TABLE alerts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON alerts TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
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
  attempts   int NOT NULL DEFAULT 0,
  sent_at    timestamptz,
  problem    text,
  UNIQUE (channel, digest_on)
);
CREATE INDEX alert_messages_ready ON alert_messages (channel, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX alert_messages_created ON alert_messages (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON alert_messages TO chartwire_system;

-- What the alerts are found by: which endpoints fail, and which removals wait for a confirmation.
GRANT SELECT (client_id, status) ON webhook_endpoints TO chartwire_system;
CREATE POLICY crossing ON sync_passes TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (client_id, organization_id, kind, held_at, held_stored, held_missing, removal_confirmed)
  ON sync_passes TO chartwire_system;
