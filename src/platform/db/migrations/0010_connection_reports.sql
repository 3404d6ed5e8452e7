-- What was requested from an EMR's server during a sign-in, for the developer and the EMR's vendor. No health data, token
-- or secret. One for the latest sign-in of each account, and one for the latest failed sign-in of each link token, which
-- is deleted with it.
CREATE TABLE connection_reports (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id      uuid UNIQUE REFERENCES accounts ON DELETE CASCADE,
  link_token_hash bytea UNIQUE REFERENCES link_tokens ON DELETE CASCADE,
  -- How the sign-in ended; null if it succeeded.
  error_code      text,
  error_message   text,
  report          jsonb NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  CHECK (num_nonnulls(account_id, link_token_hash) = 1)
);
CREATE INDEX connection_reports_client ON connection_reports (client_id);

ALTER TABLE connection_reports ENABLE ROW LEVEL SECURITY;
ALTER TABLE connection_reports FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON connection_reports TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON connection_reports TO chartwire_service;

-- The text of `failure`, which names the scopes or the EMR's reason.
ALTER TABLE page_sign_ins ADD COLUMN failure_message text;
