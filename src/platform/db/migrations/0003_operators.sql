-- Operators run the installation and belong to no client. Only the system role sees them.

-- Access --------------------------------------------------------------------------------------------------------------

CREATE FUNCTION role_rank(role text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT array_position(ARRAY['support', 'read_only', 'operator', 'owner'], role) $$;
-- Null means no role in particular, so that the other one is the result.
CREATE FUNCTION lower_role(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT (ARRAY['support', 'read_only', 'operator', 'owner'])[least(role_rank(a), role_rank(b))] $$;
CREATE FUNCTION higher_role(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT (ARRAY['support', 'read_only', 'operator', 'owner'])[greatest(role_rank(a), role_rank(b))] $$;

CREATE TABLE operators (
  id                   uuid PRIMARY KEY,
  email                text NOT NULL UNIQUE,
  name                 text NOT NULL DEFAULT '',

  -- The effective role. With single sign-on it is the lower of what the identity provider claims and what an owner allows.
  role                 text NOT NULL CHECK (role IN ('owner', 'operator', 'read_only', 'support')),
  -- The role that the provider claims without naming a client; null if it names clients only.
  claimed_role         text CHECK (claimed_role IN ('owner', 'operator', 'read_only', 'support')),
  -- The highest role that an owner allows an operator with single sign-on; null for no limit.
  role_limit           text CHECK (role_limit IN ('owner', 'operator', 'read_only', 'support')),
  -- When the operator became an owner, unless it was at the first start.
  owner_since          timestamptz,
  -- False: the clients and roles in operator_clients apply instead of `role`. Owners always have all clients.
  all_clients          boolean NOT NULL DEFAULT true,
  -- May reveal patient details that the role hides, see the accounting of disclosures of a patient, and place and lift
  -- legal holds.
  may_reveal           boolean NOT NULL DEFAULT false,
  may_see_disclosures  boolean NOT NULL DEFAULT false,
  may_hold             boolean NOT NULL DEFAULT false,

  -- Null for operators who sign in with single sign-on.
  password_hash        text,
  -- Somebody else has seen the password: it was generated at the first start, or set by another operator.
  password_temporary   boolean NOT NULL DEFAULT false,
  -- A temporary password is accepted until then; null for one that the operator has chosen.
  password_expires_at  timestamptz,
  -- Who was shown the temporary password; null if it was created on the server.
  password_set_by      uuid REFERENCES operators ON DELETE SET NULL,
  -- Null for operators who sign in by password alone.
  totp_sealed          bytea,
  -- The time step of the last accepted code: each code is accepted once.
  totp_step            bigint NOT NULL DEFAULT 0,

  -- With OpenID Connect, an operator is identified by issuer and subject.
  sso_issuer           text,
  sso_subject          text,
  -- Until then, the first single sign-on with this email address takes the operator over. Set by the owner `sso_link_by`.
  sso_link_until       timestamptz,
  sso_link_by          uuid REFERENCES operators ON DELETE SET NULL,
  -- Until then, a password is accepted although the operator, or everyone, uses single sign-on. Set on the server.
  local_sign_in_until  timestamptz,

  created_at           timestamptz NOT NULL DEFAULT now(),
  -- The email address of the inviter; null for those who were not invited.
  invited_by           text,
  invited_at           timestamptz,
  signed_in_at         timestamptz,
  -- The last action in a session, up to 30 seconds late.
  last_used_at         timestamptz,
  -- Days of inactivity count from here at the earliest: from the creation, or from when the operator was enabled.
  active_from          timestamptz NOT NULL DEFAULT now(),
  disabled_at          timestamptz,
  -- Disabled by OPERATOR_INACTIVE_DAYS.
  inactive             boolean NOT NULL DEFAULT false CHECK (NOT inactive OR disabled_at IS NOT NULL),

  CONSTRAINT operators_sso CHECK ((sso_issuer IS NULL) = (sso_subject IS NULL)),
  CONSTRAINT operators_sso_key UNIQUE (sso_issuer, sso_subject)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operators TO chartwire_system;

-- Access to single clients. `role` is assigned by an owner, `claimed_role` by the identity provider.
CREATE TABLE operator_clients (
  operator_id  uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  role         text CHECK (role IN ('operator', 'read_only', 'support')),
  claimed_role text CHECK (claimed_role IN ('operator', 'read_only', 'support')),
  PRIMARY KEY (operator_id, client_id),
  CONSTRAINT operator_clients_some_role CHECK (role IS NOT NULL OR claimed_role IS NOT NULL)
);
CREATE INDEX operator_clients_client ON operator_clients (client_id);
CALL limit_to_tenant('operator_clients');
CREATE POLICY crossing ON operator_clients TO chartwire_system USING (true) WITH CHECK (true);
-- Only owners, through the system role, give access to a client; the service role deletes it with the client.
GRANT SELECT, DELETE ON operator_clients TO chartwire_service;
GRANT SELECT, INSERT, DELETE, UPDATE (role, claimed_role) ON operator_clients TO chartwire_system;

-- Who has an invitation's link can become an operator, once. A used or revoked invitation is deleted, and those of an
-- operator who is disabled, demoted or reset become void.
CREATE TABLE operator_invitations (
  id                  uuid PRIMARY KEY,
  token_hash          bytea NOT NULL UNIQUE,
  email               text NOT NULL UNIQUE,
  role                text NOT NULL CHECK (role IN ('owner', 'operator', 'read_only', 'support')),
  all_clients         boolean NOT NULL,
  -- [{ "id": client, "role": role }]; a client that is erased before the invitation is used is skipped.
  clients             jsonb NOT NULL,
  may_reveal          boolean NOT NULL,
  may_see_disclosures boolean NOT NULL DEFAULT false,
  may_hold            boolean NOT NULL DEFAULT false,
  inviter_id          uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  -- The inviter's email address.
  invited_by          text NOT NULL,
  created_at          timestamptz NOT NULL DEFAULT now(),
  expires_at          timestamptz NOT NULL
);
CREATE INDEX operator_invitations_inviter ON operator_invitations (inviter_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_invitations TO chartwire_system;

-- Sessions ------------------------------------------------------------------------------------------------------------

CREATE TABLE operator_sessions (
  token_hash       bytea PRIMARY KEY,
  -- Names the session in its operator's list; the token hash is not shown.
  id               uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
  operator_id      uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  method           text NOT NULL DEFAULT 'password'
                   CHECK (method IN ('password', 'password_totp', 'passkey', 'single_sign_on')),
  address          text NOT NULL DEFAULT '',
  user_agent       text NOT NULL DEFAULT '',
  created_at       timestamptz NOT NULL DEFAULT now(),
  -- The last action of the person; requests that the page makes by itself do not count.
  seen_at          timestamptz NOT NULL DEFAULT now(),
  -- The last proof of identity. Changes to the password or a second factor need a recent one.
  authenticated_at timestamptz NOT NULL DEFAULT now(),

  -- Sessions of single sign-on are checked at the identity provider while they are used. The provider's tokens; null if it
  -- offers no way to ask again, and in sessions of other kinds.
  provider_sealed  bytea,
  -- When the provider last said what the operator may do, and when it was last asked.
  checked_at       timestamptz NOT NULL DEFAULT now(),
  check_started_at timestamptz,
  -- Hash of the issuer and its own id of the session (sid), by which the provider ends it; null if the ID token had none,
  -- and in sessions of other kinds.
  sso_sid_hash     bytea
);
CREATE INDEX operator_sessions_operator ON operator_sessions (operator_id);
CREATE INDEX operator_sessions_sso_sid ON operator_sessions (sso_sid_hash) WHERE sso_sid_hash IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_sessions TO chartwire_system;

-- Patient details that an operator has revealed, for one session. The reason is in the audit log.
CREATE TABLE operator_reveals (
  session_hash bytea NOT NULL REFERENCES operator_sessions ON DELETE CASCADE,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  kind         text NOT NULL CHECK (kind IN ('job', 'event', 'received_request', 'patient')),
  subject      text NOT NULL,
  expires_at   timestamptz NOT NULL,
  PRIMARY KEY (session_hash, client_id, kind, subject)
);
CREATE INDEX operator_reveals_client ON operator_reveals (client_id);
CALL limit_to_tenant('operator_reveals');
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_reveals TO chartwire_service;

-- The networks that operators have signed in from, for the alert about a new one. A network that was not used for a time
-- counts as new again: `new_at` is then set anew.
CREATE TABLE operator_networks (
  operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  network     text NOT NULL,
  new_at      timestamptz NOT NULL DEFAULT now(),
  seen_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (operator_id, network)
);
CREATE INDEX operator_networks_new ON operator_networks (new_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_networks TO chartwire_system;

-- Passwords and second factors ----------------------------------------------------------------------------------------

-- One row per counter instead of one per attempt, so that an attempt is counted in one statement. A counter is the hash of
-- an email address (whether or not such an operator exists), of a known device, or of the text that stands for all unknown
-- browsers.
CREATE TABLE sign_in_attempts (
  counter_hash bytea PRIMARY KEY,
  attempts     integer NOT NULL,
  -- When the first of these attempts was made.
  since        timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_attempts TO chartwire_system;

-- Browsers in which an operator has signed in (OWASP: device cookies). Their attempts are counted separately, so that
-- strangers who guess passwords cannot lock the operator out.
CREATE TABLE operator_devices (
  token_hash  bytea PRIMARY KEY,
  operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  used_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX operator_devices_operator ON operator_devices (operator_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_devices TO chartwire_system;

-- Secrets for an authenticator app, until the operator has confirmed one with a code.
CREATE TABLE operator_totp_offers (
  operator_id   uuid PRIMARY KEY REFERENCES operators ON DELETE CASCADE,
  secret_sealed bytea NOT NULL,
  offered_at    timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_totp_offers TO chartwire_system;

-- Wrong codes of authenticator apps, over a long period: with a short one, a few guesses a day would succeed in the end.
CREATE TABLE operator_code_guesses (
  operator_id uuid PRIMARY KEY REFERENCES operators ON DELETE CASCADE,
  guesses     integer NOT NULL,
  since       timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_code_guesses TO chartwire_system;

-- Each replaces a second factor once.
CREATE TABLE operator_recovery_codes (
  code_hash   bytea PRIMARY KEY,
  operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE
);
CREATE INDEX operator_recovery_codes_operator ON operator_recovery_codes (operator_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_recovery_codes TO chartwire_system;

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
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_passkeys TO chartwire_system;

-- Challenges that a browser has not signed yet. Deleted when used.
CREATE TABLE passkey_challenges (
  challenge_hash bytea PRIMARY KEY,
  -- The operator who registers a passkey; null for a sign-in.
  operator_id    uuid REFERENCES operators ON DELETE CASCADE,
  created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX passkey_challenges_created ON passkey_challenges (created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON passkey_challenges TO chartwire_system;

-- Single sign-on ------------------------------------------------------------------------------------------------------

-- Sign-ins for which the browser has gone to the identity provider. A row is deleted when the browser returns.
CREATE TABLE sso_sign_ins (
  state_hash    bytea PRIMARY KEY,
  -- Hash of the token in the browser's cookie.
  browser_hash  bytea NOT NULL,
  -- The nonce and the PKCE verifier.
  checks_sealed bytea NOT NULL,
  -- The page of the dashboard to return to.
  path          text NOT NULL,
  -- Set if a signed-in operator confirms their identity at the provider: the session that becomes fresh.
  session_hash  bytea REFERENCES operator_sessions ON DELETE CASCADE,
  created_at    timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, DELETE ON sso_sign_ins TO chartwire_system;

-- Back-channel logout: the identity provider ends sessions of operators. Logout tokens of the last hour: each is accepted
-- once, and ends sign-ins that were in progress when it arrived.
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

-- Oversight -----------------------------------------------------------------------------------------------------------

-- Actions of operators that need a second person (FOUR_EYES). `client` is a public id without a reference: a row is the
-- proof of who approved, and outlives an erased client.
CREATE TABLE approvals (
  id               uuid PRIMARY KEY,
  action           text NOT NULL,
  endpoint         text NOT NULL,
  client           text,
  -- Whom or what it is about, as it was when it was requested; no health data.
  subject          text,
  -- The request as it runs: parameters, query and body. Sealed, because a URL may contain a secret.
  content_sealed   bytea NOT NULL,
  content_hash     bytea NOT NULL,
  requester_id     uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  -- How the requester had signed in.
  requester_method text NOT NULL,
  requested_at     timestamptz NOT NULL DEFAULT now(),
  state            text NOT NULL DEFAULT 'pending'
                   CHECK (state IN ('pending', 'approved', 'executed', 'refused', 'cancelled', 'expired')),
  -- While pending: to be decided until then; while approved: to be run until then.
  expires_at       timestamptz NOT NULL,
  -- Who approved or refused it.
  decided_by       uuid REFERENCES operators ON DELETE CASCADE,
  decided_at       timestamptz,
  ended_at         timestamptz,
  reason           text,
  CHECK (requester_id <> decided_by),
  CHECK (state NOT IN ('approved', 'executed', 'refused') OR decided_by IS NOT NULL)
);
-- The same request is stored once while it is open.
CREATE UNIQUE INDEX approvals_open ON approvals (requester_id, content_hash) WHERE state IN ('pending', 'approved');
CREATE INDEX approvals_requested ON approvals (requested_at);
GRANT SELECT, INSERT, DELETE, UPDATE (state, decided_by, decided_at, expires_at, ended_at, reason) ON approvals
  TO chartwire_system;
-- An action runs in the transaction that marks its approval as executed, often that of a client.
GRANT SELECT (id, state, expires_at), UPDATE (state, ended_at) ON approvals TO chartwire_service;

-- Reviews of who has access: what was shown, and what was decided about each row. The hash is in the audit log too.
CREATE TABLE access_reviews (
  id          uuid PRIMARY KEY,
  started_by  text NOT NULL,
  started_at  timestamptz NOT NULL DEFAULT now(),
  -- The rows of the report, as the JSON text that the hash covers. No secrets.
  rows        text NOT NULL,
  -- By the id of the row: confirmed or remove. Null until the review is attested, as all of these.
  decisions   text,
  note        text,
  hash        text,
  attested_by text,
  attested_at timestamptz,
  CHECK (num_nulls(decisions, note, hash, attested_by, attested_at) IN (0, 5))
);
GRANT SELECT, INSERT, DELETE, UPDATE (decisions, note, hash, attested_by, attested_at) ON access_reviews
  TO chartwire_system;
