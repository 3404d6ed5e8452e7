-- Keys. Data keys encrypt the secrets of clients and accounts, and are wrapped by a master key that is never stored in the
-- database.

-- The master keys that are in use, or were. A master key that wraps a data key cannot be removed, and nothing can be wrapped
-- by one that was: a process that missed a rotation fails instead of storing a secret that nobody can decrypt.
CREATE TABLE master_keys (
  id          text PRIMARY KEY,
  -- Shows whether the key that the service was given is this one.
  check_value bytea NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON master_keys TO chartwire_system;

CREATE TABLE data_keys (
  id            uuid PRIMARY KEY,
  client_id     uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- The client or the account that the key belongs to.
  owner_id      uuid NOT NULL UNIQUE,
  master_key_id text NOT NULL CONSTRAINT data_keys_master_key REFERENCES master_keys,
  wrapped       bytea NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX data_keys_master ON data_keys (master_key_id);
CALL limit_to_tenant('data_keys');
CREATE POLICY crossing ON data_keys TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON data_keys TO chartwire_service;
-- For a rotation of the master key.
GRANT SELECT, UPDATE (master_key_id, wrapped) ON data_keys TO chartwire_system;

-- Keys of the installation itself, which belong to no client.
CREATE TABLE system_keys (
  name          text PRIMARY KEY,
  master_key_id text NOT NULL,
  wrapped       bytea NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE (master_key_id, wrapped) ON system_keys TO chartwire_system;

-- How many keys were unwrapped with a master key: a row per day (UTC), process and purpose. Each process adds to its rows
-- once a minute, if there is something to add. A row says nothing about clients.
CREATE TABLE key_unwraps (
  day     date NOT NULL,
  host    text NOT NULL,
  -- command: administration on the server.
  role    text NOT NULL CHECK (role IN ('all', 'api', 'worker', 'command')),
  purpose text NOT NULL,
  unwraps bigint NOT NULL,
  PRIMARY KEY (day, host, role, purpose)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON key_unwraps TO chartwire_system;

-- The keys with which the service authenticates to EMRs that know it by its public key. The private half is sealed, the
-- public half is published. They belong to a client: with keys that all clients shared, an EMR could not tell clients
-- apart, and a client could sign for the client ID of another.
CREATE TABLE signing_keys (
  kid            text PRIMARY KEY,
  client_id      uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  alg            text NOT NULL CHECK (alg IN ('RS384', 'ES384')),
  public_jwk     json NOT NULL,
  private_sealed bytea NOT NULL,
  -- A new key is published before it signs, because EMRs cache the key set.
  signs_from     timestamptz NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX signing_keys_client ON signing_keys (client_id, alg, signs_from DESC);
CALL limit_to_tenant('signing_keys');
GRANT SELECT, INSERT, DELETE ON signing_keys TO chartwire_service;
