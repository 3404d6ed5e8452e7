-- Signing keys belong to a client: with keys that all clients shared, an EMR could not tell them apart, and a client
-- could sign for the client ID of another. The shared keys are deleted. EMRs must register the new key sets.
DROP TABLE signing_keys;

CREATE TABLE signing_keys (
  kid            text PRIMARY KEY,
  client_id      uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  alg            text NOT NULL CHECK (alg IN ('RS384', 'ES384')),
  public_jwk     json NOT NULL,
  -- Sealed with the client's data key.
  private_sealed bytea NOT NULL,
  -- A new key is published before it signs, because EMRs cache the key set.
  signs_from     timestamptz NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX signing_keys_client ON signing_keys (client_id, alg, signs_from DESC);

ALTER TABLE signing_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE signing_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON signing_keys TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON signing_keys TO chartwire_service;
