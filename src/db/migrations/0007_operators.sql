-- The people who run the installation stand above the tenants: these rows belong to none, and only the system role
-- sees them.
ALTER TABLE operators
  ADD COLUMN name        text NOT NULL DEFAULT '',
  -- Sealed; null where the operator signs in by password alone.
  ADD COLUMN totp_sealed bytea,
  -- The time step of the last code that was taken: a code is good once.
  ADD COLUMN totp_step   bigint NOT NULL DEFAULT 0,
  ADD COLUMN disabled_at timestamptz;

CREATE TABLE operator_sessions (
  token_hash  bytea PRIMARY KEY,
  operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  created_at  timestamptz NOT NULL DEFAULT now(),
  -- The last thing the person did; what the page fetches by itself does not count.
  seen_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX operator_sessions_operator ON operator_sessions (operator_id);

-- Every password that was really checked, by the hash of the e-mail address it was tried for, whether or not there is
-- such an operator.
CREATE TABLE operator_tries (
  email_hash bytea NOT NULL,
  at         timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX operator_tries_email ON operator_tries (email_hash, at);

GRANT SELECT, INSERT, UPDATE, DELETE ON operator_sessions, operator_tries TO chartwire_system;
