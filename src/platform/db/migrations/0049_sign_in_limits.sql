-- One row per counter instead of one per attempt, so that an attempt is counted in one statement. A counter is the hash of
-- an email address, of a known device, or of the text that stands for all unknown browsers.
DROP TABLE sign_in_attempts;
CREATE TABLE sign_in_attempts (
  counter_hash bytea PRIMARY KEY,
  attempts     integer NOT NULL,
  -- When the first of these attempts was made.
  since        timestamptz NOT NULL DEFAULT now()
);

-- Wrong codes of authenticator apps. A long period, because few guesses a day would succeed one day.
CREATE TABLE operator_code_guesses (
  operator_id uuid PRIMARY KEY REFERENCES operators ON DELETE CASCADE,
  guesses     integer NOT NULL,
  since       timestamptz NOT NULL DEFAULT now()
);

-- Secrets for an authenticator app, until the operator has confirmed one with a code.
CREATE TABLE operator_totp_offers (
  operator_id   uuid PRIMARY KEY REFERENCES operators ON DELETE CASCADE,
  secret_sealed bytea NOT NULL,
  offered_at    timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_attempts, operator_code_guesses, operator_totp_offers
  TO chartwire_system;
