-- What a client secret permits, and until when. An organization is named by the client's own ID for it, because a secret
-- can be created before the organization is linked.
ALTER TABLE client_secrets
  ADD COLUMN access text NOT NULL DEFAULT 'read_write' CHECK (access IN ('read_write', 'read_only')),
  ADD COLUMN org_id text,
  ADD COLUMN expires_at timestamptz;
