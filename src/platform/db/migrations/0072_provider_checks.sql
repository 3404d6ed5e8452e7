-- Sessions of single sign-on are checked at the identity provider while they are used.
ALTER TABLE operator_sessions
  -- The provider's tokens, sealed; null if the provider offers no way to ask again, and in sessions of other kinds.
  ADD COLUMN provider_sealed  bytea,
  -- When the provider last said what the operator may do, and when it was last asked.
  ADD COLUMN checked_at       timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN check_started_at timestamptz;
