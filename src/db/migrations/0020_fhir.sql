-- The keys that the service signs with where an EMR knows it by its public key. They belong to the installation, not to
-- a client: the private half is sealed under the master key, the public half is published.
CREATE TABLE signing_keys (
  kid            text PRIMARY KEY,
  alg            text NOT NULL CHECK (alg IN ('RS384', 'ES384')),
  public_jwk     json NOT NULL,
  private_sealed bytea NOT NULL,
  master_key_id  text NOT NULL,
  -- A new key is published before it signs, because EMRs remember the set of keys for a while.
  signs_from     timestamptz NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON signing_keys TO chartwire_system;

-- What the server of this very account can do; null: all that its connector offers.
ALTER TABLE accounts ADD COLUMN offers text[];
GRANT SELECT (offers) ON accounts TO chartwire_system;

-- A sign-in on the EMR's own page, from the moment a person leaves for it until Link takes up what it gave. One per
-- link: a second one takes the place of the first. `kept_sealed` is what the exchange needs (credentials, the PKCE
-- verifier), `grant_sealed` what the EMR gave.
CREATE TABLE page_sign_ins (
  link_token_hash bytea PRIMARY KEY REFERENCES link_tokens ON DELETE CASCADE,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  state_hash      bytea NOT NULL UNIQUE,
  window_hash     bytea NOT NULL,
  kept_sealed     bytea NOT NULL,
  grant_sealed    bytea,
  -- When the person came back: what they brought is exchanged once.
  returned_at     timestamptz,
  -- Why it came to nothing: a code of the errors' table.
  failure         text,
  created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX page_sign_ins_client ON page_sign_ins (client_id);
ALTER TABLE page_sign_ins ENABLE ROW LEVEL SECURITY;
ALTER TABLE page_sign_ins FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON page_sign_ins TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON page_sign_ins TO chartwire_service;
CREATE POLICY crossing ON page_sign_ins TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (state_hash, client_id) ON page_sign_ins TO chartwire_system;
