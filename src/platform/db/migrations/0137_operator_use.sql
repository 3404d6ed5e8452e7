-- When operators were last here, who invited them, and whether they were disabled because they were not.
ALTER TABLE operators
  ADD COLUMN signed_in_at timestamptz,
  -- The last action in a session, up to 30 seconds late.
  ADD COLUMN last_used_at timestamptz,
  -- Days of inactivity count from here at the earliest: from the creation, this migration, or when the operator was
  -- enabled.
  ADD COLUMN active_from timestamptz NOT NULL DEFAULT now(),
  -- Disabled by OPERATOR_INACTIVE_DAYS.
  ADD COLUMN inactive boolean NOT NULL DEFAULT false CHECK (NOT inactive OR disabled_at IS NOT NULL),
  -- The email address of the inviter; null for those who were not invited.
  ADD COLUMN invited_by text,
  ADD COLUMN invited_at timestamptz;

UPDATE operators SET signed_in_at = latest.signed_in_at, last_used_at = latest.last_used_at
  FROM (SELECT operator_id, max(created_at) AS signed_in_at, max(seen_at) AS last_used_at
          FROM operator_sessions GROUP BY operator_id) AS latest
 WHERE latest.operator_id = operators.id;

-- The owner of a table sees no rows with forced row-level security.
ALTER TABLE audit_records NO FORCE ROW LEVEL SECURITY;
UPDATE operators SET invited_by = invitation.actor, invited_at = invitation.at
  FROM audit_records AS accepted
       JOIN audit_records AS invitation ON invitation.action = 'dashboard.invitations.create'
        AND replace(invitation.subject, '-', '') = replace(accepted.detail ->> 'invitation', '-', '')
 WHERE accepted.action = 'operator.accept_invitation'
   AND replace(accepted.subject, '-', '') = replace(operators.id::text, '-', '');
ALTER TABLE audit_records FORCE ROW LEVEL SECURITY;
