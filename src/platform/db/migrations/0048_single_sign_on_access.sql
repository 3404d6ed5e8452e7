-- With single sign-on, the access of an operator is the lower of what the identity provider claims and what an owner has
-- assigned.

CREATE FUNCTION role_rank(role text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT array_position(ARRAY['support', 'read_only', 'operator', 'owner'], role) $$;
-- Null means no role in particular, so that the other one is the result.
CREATE FUNCTION lower_role(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT (ARRAY['support', 'read_only', 'operator', 'owner'])[least(role_rank(a), role_rank(b))] $$;
CREATE FUNCTION higher_role(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT (ARRAY['support', 'read_only', 'operator', 'owner'])[greatest(role_rank(a), role_rank(b))] $$;

ALTER TABLE operators
  -- The role that the provider claims without naming a client; null if it names clients only. `role` is the effective one.
  ADD COLUMN claimed_role text CHECK (claimed_role IN ('owner', 'operator', 'read_only', 'support')),
  -- The highest role that an owner allows an operator with single sign-on; null for no limit.
  ADD COLUMN role_limit text CHECK (role_limit IN ('owner', 'operator', 'read_only', 'support'));
UPDATE operators SET claimed_role = role WHERE sso_subject IS NOT NULL;

-- `role` is assigned by an owner, `claimed_role` by the identity provider.
ALTER TABLE operator_clients
  ALTER COLUMN role DROP NOT NULL,
  ADD COLUMN claimed_role text CHECK (claimed_role IN ('operator', 'read_only', 'support')),
  ADD CONSTRAINT operator_clients_some_role CHECK (role IS NOT NULL OR claimed_role IS NOT NULL);
GRANT UPDATE (role, claimed_role) ON operator_clients TO chartwire_system;

-- Set if a signed-in operator confirms their identity at the provider: the session that becomes fresh.
ALTER TABLE sso_sign_ins ADD COLUMN session_hash bytea REFERENCES operator_sessions ON DELETE CASCADE;
