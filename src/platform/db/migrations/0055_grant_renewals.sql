-- Who renews the session of an account. A refresh token can often be redeemed only once, and some servers end the whole
-- sign-in if one is sent a second time. A row with a lease, not a lock: no transaction is open during the call to the EMR.
CREATE TABLE grant_renewals (
  account_id   uuid PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  owner        text,
  fence        bigint NOT NULL,
  -- Null: nobody renews it at the moment.
  locked_until timestamptz
);
CREATE INDEX grant_renewals_client ON grant_renewals (client_id);

ALTER TABLE grant_renewals ENABLE ROW LEVEL SECURITY;
ALTER TABLE grant_renewals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON grant_renewals TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON grant_renewals TO chartwire_service;
