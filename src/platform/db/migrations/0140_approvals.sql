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
