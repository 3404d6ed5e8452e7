-- What Link shows before anyone signs in, and whether the person agreed. One for each link token, which is deleted with
-- it, and one for each account: the consent that it was last linked with. No health data, token or secret.
CREATE TABLE link_consents (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id      uuid UNIQUE REFERENCES accounts ON DELETE CASCADE,
  link_token_hash bytea UNIQUE REFERENCES link_tokens ON DELETE CASCADE,
  -- Who asks, the EMR and its sign-in hosts, and what will be read and changed.
  terms           jsonb NOT NULL,
  terms_hash      text NOT NULL,
  -- The words on the page, as the browser reported them. The audit log has their hash.
  language        text,
  shown_text      text,
  given_at        timestamptz,
  CHECK (num_nonnulls(account_id, link_token_hash) = 1),
  CHECK (num_nonnulls(language, shown_text, given_at) IN (0, 3)),
  CHECK (account_id IS NULL OR given_at IS NOT NULL)
);
CREATE INDEX link_consents_client ON link_consents (client_id);

ALTER TABLE link_consents ENABLE ROW LEVEL SECURITY;
ALTER TABLE link_consents FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON link_consents TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON link_consents TO chartwire_service;
