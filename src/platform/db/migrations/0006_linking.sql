-- Link, the page on which a person connects an EMR account, and the practice page, on which practice staff see and unlink it.

CREATE TABLE link_tokens (
  token_hash     bytea PRIMARY KEY,
  client_id      uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- A link created in the dashboard returns no public token. A sign-in at the EMR that opens the practice page links
  -- nothing.
  created_in     text NOT NULL DEFAULT 'api' CHECK (created_in IN ('api', 'dashboard', 'practice_page')),
  -- The operator who created the link in the dashboard.
  created_by     uuid,
  user_id        text NOT NULL,
  org_id         text NOT NULL,
  -- The account to link again.
  account_id     uuid REFERENCES accounts ON DELETE CASCADE,

  -- A link may be created without an EMR: the person then finds the practice in the directory, and may choose another one
  -- until the account is linked.
  connector      text,
  emr_address    text,
  emr_app_id     uuid REFERENCES emr_apps ON DELETE SET NULL,
  search_params  jsonb NOT NULL DEFAULT '{}',
  finds_practice boolean NOT NULL DEFAULT false,
  practice_id    uuid,

  callback_url   text,
  language       text,
  -- Sign-in attempts at the EMR. The token is used up at a limit, or Link could be used to guess passwords.
  attempts       integer NOT NULL DEFAULT 0,
  created_at     timestamptz NOT NULL DEFAULT now(),
  expires_at     timestamptz NOT NULL,
  used_at        timestamptz,
  CHECK ((connector IS NULL) = (emr_address IS NULL)),
  CHECK (connector IS NOT NULL OR finds_practice)
);
CREATE INDEX link_tokens_expires ON link_tokens (expires_at);
CREATE INDEX link_tokens_created_by ON link_tokens (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX link_tokens_emr_app ON link_tokens (emr_app_id) WHERE emr_app_id IS NOT NULL;
CREATE INDEX link_tokens_practice_page ON link_tokens (client_id, org_id, user_id) WHERE created_in = 'practice_page';
CALL limit_to_tenant('link_tokens');
CREATE POLICY crossing ON link_tokens TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON link_tokens TO chartwire_service;
GRANT SELECT (token_hash, client_id, created_by, expires_at, used_at), DELETE ON link_tokens TO chartwire_system;

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
CALL limit_to_tenant('link_consents');
GRANT SELECT, INSERT, UPDATE, DELETE ON link_consents TO chartwire_service;

-- A sign-in on the EMR's own page, from the redirect to it until Link uses the result. One per link token: a second
-- sign-in replaces the first.
CREATE TABLE page_sign_ins (
  link_token_hash bytea PRIMARY KEY REFERENCES link_tokens ON DELETE CASCADE,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  state_hash      bytea NOT NULL UNIQUE,
  window_hash     bytea NOT NULL,
  -- What the token exchange needs: credentials and the PKCE verifier.
  pending_sealed  bytea NOT NULL,
  -- What the EMR granted.
  grant_sealed    bytea,
  -- When the person came back. The authorization code is exchanged once.
  returned_at     timestamptz,
  -- An error code, if the sign-in failed, and its text, which names the scopes or the EMR's reason.
  failure         text,
  failure_message text,
  created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX page_sign_ins_client ON page_sign_ins (client_id);
CALL limit_to_tenant('page_sign_ins');
CREATE POLICY crossing ON page_sign_ins TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON page_sign_ins TO chartwire_service;
GRANT SELECT (state_hash, client_id) ON page_sign_ins TO chartwire_system;

-- What was requested from an EMR's server during a sign-in, for the developer and the EMR's vendor. No health data, token
-- or secret. One for the latest sign-in of each account, and one for the latest failed sign-in of each link token, which
-- is deleted with it.
CREATE TABLE connection_reports (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id      uuid UNIQUE REFERENCES accounts ON DELETE CASCADE,
  link_token_hash bytea UNIQUE REFERENCES link_tokens ON DELETE CASCADE,
  -- How the sign-in ended; null if it succeeded.
  error_code      text,
  error_message   text,
  report          jsonb NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  CHECK (num_nonnulls(account_id, link_token_hash) = 1)
);
CREATE INDEX connection_reports_client ON connection_reports (client_id);
CALL limit_to_tenant('connection_reports');
GRANT SELECT, INSERT, UPDATE, DELETE ON connection_reports TO chartwire_service;

-- What Link returns when an account is linked. The client exchanges it for an access token, once.
CREATE TABLE public_tokens (
  token_hash bytea PRIMARY KEY,
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at    timestamptz
);
CREATE INDEX public_tokens_expires ON public_tokens (expires_at);
CALL limit_to_tenant('public_tokens');
CREATE POLICY crossing ON public_tokens TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON public_tokens TO chartwire_service;
GRANT SELECT (expires_at), DELETE ON public_tokens TO chartwire_system;

-- The practice page. A pass is the one-time link that Link shows when an account is linked; a session starts with a pass,
-- or with a sign-in at the EMR.
CREATE TABLE practice_sessions (
  token_hash  bytea PRIMARY KEY,
  client_id   uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id  uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  pass        boolean NOT NULL,
  -- The EMR user who has linked the account or signed in. The row is worth nothing once the account is another user's.
  emr_user_id text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL
);
CREATE INDEX practice_sessions_account ON practice_sessions (account_id);
CREATE INDEX practice_sessions_expires ON practice_sessions (expires_at);
CALL limit_to_tenant('practice_sessions');
CREATE POLICY crossing ON practice_sessions TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, DELETE ON practice_sessions TO chartwire_service;
GRANT SELECT (token_hash, client_id, pass, expires_at), DELETE ON practice_sessions TO chartwire_system;
