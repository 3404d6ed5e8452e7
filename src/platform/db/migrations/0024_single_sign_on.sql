-- Operators who sign in with OpenID Connect are identified by issuer and subject, and have no password.
ALTER TABLE operators
  ALTER COLUMN password_hash DROP NOT NULL,
  ADD COLUMN sso_issuer text,
  ADD COLUMN sso_subject text,
  -- Until then, the first single sign-on with this email address takes the operator over. Set by an owner.
  ADD COLUMN sso_link_until timestamptz,
  -- Until then, a password is accepted although the operator, or everyone, uses single sign-on. Set on the server.
  ADD COLUMN local_sign_in_until timestamptz,
  ADD CONSTRAINT operators_sso CHECK ((sso_issuer IS NULL) = (sso_subject IS NULL)),
  ADD CONSTRAINT operators_sso_key UNIQUE (sso_issuer, sso_subject);

-- Sign-ins for which the browser has gone to the identity provider. A row is deleted when the browser returns.
CREATE TABLE sso_sign_ins (
  state_hash   bytea PRIMARY KEY,
  -- Hash of the token in the browser's cookie.
  browser_hash bytea NOT NULL,
  -- The nonce and the PKCE verifier.
  checks_sealed bytea NOT NULL,
  -- The page of the dashboard to return to.
  path         text NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, DELETE ON sso_sign_ins TO chartwire_system;

-- Shown in the list of secrets; null for older ones, of which only the hash is known.
ALTER TABLE client_secrets
  ADD COLUMN last_four text,
  ADD COLUMN label text,
  ADD COLUMN created_by text,
  ADD COLUMN last_used_at timestamptz;
