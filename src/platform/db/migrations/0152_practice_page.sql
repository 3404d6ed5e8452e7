-- The page on which practice staff see a linked account and can unlink it. A pass is the one-time link that Link shows when
-- an account is linked; a session starts with a pass, or with a sign-in at the EMR.
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

ALTER TABLE practice_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE practice_sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON practice_sessions TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
CREATE POLICY crossing ON practice_sessions TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, DELETE ON practice_sessions TO chartwire_service;
GRANT SELECT (token_hash, client_id, pass, expires_at), DELETE ON practice_sessions TO chartwire_system;

-- A sign-in at the EMR that opens this page. It links nothing.
ALTER TABLE link_tokens DROP CONSTRAINT link_tokens_created_in_check;
ALTER TABLE link_tokens ADD CONSTRAINT link_tokens_created_in_check
  CHECK (created_in IN ('api', 'dashboard', 'practice_page'));
CREATE INDEX link_tokens_practice_page ON link_tokens (client_id, org_id, user_id) WHERE created_in = 'practice_page';

-- NOT VALID: existing records have one of the earlier kinds, and the log is large.
ALTER TABLE audit_records DROP CONSTRAINT audit_records_actor_kind_check;
ALTER TABLE audit_records ADD CONSTRAINT audit_records_actor_kind_check
  CHECK (actor_kind IN ('client', 'operator', 'link', 'practice', 'worker', 'system')) NOT VALID;
