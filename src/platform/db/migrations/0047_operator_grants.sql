-- What an operator has prepared for others becomes void when the operator is disabled, demoted or reset.

ALTER TABLE operator_invitations ADD COLUMN inviter_id uuid REFERENCES operators ON DELETE CASCADE;
UPDATE operator_invitations SET inviter_id = operators.id FROM operators WHERE operators.email = invited_by;
DELETE FROM operator_invitations WHERE inviter_id IS NULL;
ALTER TABLE operator_invitations ALTER COLUMN inviter_id SET NOT NULL;
CREATE INDEX operator_invitations_inviter ON operator_invitations (inviter_id);

ALTER TABLE operators
  -- A temporary password is accepted until then; null for one that the operator has chosen.
  ADD COLUMN password_expires_at timestamptz,
  -- Who was shown the temporary password; null if it was created on the server.
  ADD COLUMN password_set_by uuid REFERENCES operators ON DELETE SET NULL,
  -- The owner who allows single sign-on to take the operator over.
  ADD COLUMN sso_link_by uuid REFERENCES operators ON DELETE SET NULL,
  -- When the operator became an owner, unless it was at the first start.
  ADD COLUMN owner_since timestamptz;
UPDATE operators SET password_expires_at = now() + interval '72 hours' WHERE password_temporary;
-- It is not known who allowed it.
UPDATE operators SET sso_link_until = NULL;

-- The operator who created the link in the dashboard.
ALTER TABLE link_tokens ADD COLUMN created_by uuid;
CREATE INDEX link_tokens_created_by ON link_tokens (created_by) WHERE created_by IS NOT NULL;
GRANT SELECT (created_by) ON link_tokens TO chartwire_system;
