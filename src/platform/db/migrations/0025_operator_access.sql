-- Least privilege for operators: the role `support`, roles per client, invitations, revealed patient details, and the
-- source address of audit records.

ALTER TABLE operators DROP CONSTRAINT operators_role_check;
ALTER TABLE operators ADD CONSTRAINT operators_role_check
  CHECK (role IN ('owner', 'operator', 'read_only', 'support'));
-- False: the clients and roles in operator_clients apply instead of `role`. Owners always have all clients.
ALTER TABLE operators ADD COLUMN all_clients boolean NOT NULL DEFAULT true;
-- Whether the operator may reveal patient details that the role hides.
ALTER TABLE operators ADD COLUMN may_reveal boolean NOT NULL DEFAULT false;

CREATE TABLE operator_clients (
  operator_id uuid NOT NULL REFERENCES operators ON DELETE CASCADE,
  client_id   uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  role        text NOT NULL CHECK (role IN ('operator', 'read_only', 'support')),
  PRIMARY KEY (operator_id, client_id)
);
CREATE INDEX operator_clients_client ON operator_clients (client_id);

-- Who has an invitation's link can become an operator, once. A used or revoked invitation is deleted.
CREATE TABLE operator_invitations (
  id          uuid PRIMARY KEY,
  token_hash  bytea NOT NULL UNIQUE,
  email       text NOT NULL UNIQUE,
  role        text NOT NULL CHECK (role IN ('owner', 'operator', 'read_only', 'support')),
  all_clients boolean NOT NULL,
  -- [{ "id": client, "role": role }]; a client that is erased before the invitation is used is skipped.
  clients     jsonb NOT NULL,
  may_reveal  boolean NOT NULL,
  invited_by  text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL
);

-- Patient details that an operator has revealed, for one session. The reason is in the audit log.
CREATE TABLE operator_reveals (
  session_hash bytea NOT NULL REFERENCES operator_sessions ON DELETE CASCADE,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  kind         text NOT NULL CHECK (kind IN ('job', 'event', 'received_request')),
  subject      text NOT NULL,
  expires_at   timestamptz NOT NULL,
  PRIMARY KEY (session_hash, client_id, kind, subject)
);
CREATE INDEX operator_reveals_client ON operator_reveals (client_id);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['operator_clients', 'operator_reveals']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO chartwire_service
      USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
      WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))$policy$, name);
  END LOOP;
END $$;
-- Only owners, through the system role, give access to a client; the service role deletes it with the client.
GRANT SELECT, DELETE ON operator_clients TO chartwire_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_reveals TO chartwire_service;
CREATE POLICY crossing ON operator_clients TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, DELETE ON operator_clients TO chartwire_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_invitations TO chartwire_system;

-- Where the actor's request came from; null for actions of the service itself, and in records of 0.1.
ALTER TABLE audit_records ADD COLUMN address text;
