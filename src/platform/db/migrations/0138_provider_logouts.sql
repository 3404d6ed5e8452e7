-- Back-channel logout: the identity provider ends sessions of operators.
ALTER TABLE operator_sessions
  -- Hash of the issuer and its own id of the session (sid); null if the ID token had none, and in sessions of other kinds.
  ADD COLUMN sso_sid_hash bytea;
CREATE INDEX operator_sessions_sso_sid ON operator_sessions (sso_sid_hash) WHERE sso_sid_hash IS NOT NULL;

-- Logout tokens of the last hour: each is accepted once, and ends sign-ins that were in progress when it arrived.
CREATE TABLE sso_logouts (
  -- Hashes of the issuer and the claim.
  jti_hash     bytea PRIMARY KEY,
  sid_hash     bytea,
  subject_hash bytea,
  issued_at    timestamptz NOT NULL,
  received_at  timestamptz NOT NULL DEFAULT now(),
  CHECK (sid_hash IS NOT NULL OR subject_hash IS NOT NULL)
);
GRANT SELECT, INSERT, DELETE ON sso_logouts TO chartwire_system;
