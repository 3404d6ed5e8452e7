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

-- Accounts whose EMR does not respond: since when each attempt has failed. Deleted when the EMR responds again.
CREATE TABLE emr_outages (
  account_id      uuid PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  client_id       uuid NOT NULL REFERENCES clients (id),
  since           timestamptz NOT NULL DEFAULT now(),
  last_failure_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE emr_outages ENABLE ROW LEVEL SECURITY;
ALTER TABLE emr_outages FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON emr_outages TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
CREATE POLICY crossing ON emr_outages TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON emr_outages TO chartwire_service;
GRANT SELECT ON emr_outages TO chartwire_system;

-- For readiness and metrics, which are read often and must not scan the endpoints of all clients. Only the first failure
-- and the next success of an endpoint change it.
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since) WHERE failing_since IS NOT NULL;
GRANT SELECT (retry_since) ON jobs TO chartwire_system;
