-- Sign-in of operators: devices, recovery codes, passkeys, and what a session's list shows.

ALTER TABLE operator_sessions
  -- Names the session in its operator's list; the token hash is not shown.
  ADD COLUMN id               uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
  ADD COLUMN address          text NOT NULL DEFAULT '',
  ADD COLUMN user_agent       text NOT NULL DEFAULT '',
  ADD COLUMN method           text NOT NULL DEFAULT 'password'
    CHECK (method IN ('password', 'password_totp', 'passkey', 'single_sign_on')),
  -- The last proof of identity. Changes to the password or a second factor need a recent one.
  ADD COLUMN authenticated_at timestamptz NOT NULL DEFAULT now();
UPDATE operator_sessions SET authenticated_at = created_at;

-- Browsers in which an operator has signed in (OWASP: device cookies). Their attempts are counted separately, so that
-- strangers who guess passwords cannot lock the operator out.
CREATE TABLE operator_devices (
  token_hash  bytea PRIMARY KEY,
  operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  used_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX operator_devices_operator ON operator_devices (operator_id);

-- Null: not from a known device.
ALTER TABLE sign_in_attempts ADD COLUMN device_hash bytea;

-- Each replaces a second factor once.
CREATE TABLE operator_recovery_codes (
  code_hash   bytea PRIMARY KEY,
  operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE
);
CREATE INDEX operator_recovery_codes_operator ON operator_recovery_codes (operator_id);

CREATE TABLE operator_passkeys (
  id            uuid PRIMARY KEY,
  operator_id   uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  name          text NOT NULL,
  credential_id text NOT NULL UNIQUE,
  public_key    bytea NOT NULL,
  -- Number of signatures, if the authenticator counts them: one that does not increase shows a copy.
  counter       bigint NOT NULL,
  transports    text[] NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now(),
  used_at       timestamptz
);
CREATE INDEX operator_passkeys_operator ON operator_passkeys (operator_id);

-- Challenges that a browser has not signed yet. Deleted when used.
CREATE TABLE passkey_challenges (
  challenge_hash bytea PRIMARY KEY,
  -- The operator who registers a passkey; null for a sign-in.
  operator_id    uuid REFERENCES operators ON DELETE CASCADE,
  created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX passkey_challenges_created ON passkey_challenges (created_at);

GRANT SELECT, INSERT, UPDATE, DELETE
  ON operator_devices, operator_recovery_codes, operator_passkeys, passkey_challenges TO chartwire_system;
