-- Unlinking accounts, rotating access tokens, erasure and retention.

-- When the account was last unlinked. Jobs accepted before that fail, even if the account is linked again before they run.
ALTER TABLE accounts ADD COLUMN unlinked_at timestamptz;

-- Access tokens that were replaced and remain valid for a while.
CREATE TABLE replaced_tokens (
  token_hash bytea PRIMARY KEY,
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX replaced_tokens_account ON replaced_tokens (account_id);

-- Sessions and tokens of unlinked accounts that are still to be revoked at the EMR; deleted when that is done.
CREATE TABLE ended_grants (
  id                 uuid PRIMARY KEY,
  client_id          uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id         uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  credentials_sealed bytea NOT NULL,
  grant_sealed       bytea NOT NULL,
  next_at            timestamptz NOT NULL DEFAULT now(),
  created_at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ended_grants_account ON ended_grants (account_id);

-- Patients that were erased, as keyed hashes: a sync does not store them again.
CREATE TABLE erased_patients (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  patient_hash    bytea NOT NULL,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  created_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, patient_hash)
);

-- When the input and the timeline of an operation were deleted, and up to which finish time this was done for a client.
ALTER TABLE operations ADD COLUMN input_deleted_at timestamptz;
ALTER TABLE clients ADD COLUMN inputs_deleted_through timestamptz;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['replaced_tokens', 'ended_grants', 'erased_patients']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO chartwire_service
      USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
      WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))$policy$, name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO chartwire_service', name);
  END LOOP;
  FOREACH name IN ARRAY ARRAY['replaced_tokens', 'ended_grants']
  LOOP
    EXECUTE format('CREATE POLICY crossing ON %I TO chartwire_system USING (true) WITH CHECK (true)', name);
  END LOOP;
END $$;

GRANT SELECT, DELETE ON replaced_tokens TO chartwire_system;
GRANT SELECT (id, client_id, account_id, next_at) ON ended_grants TO chartwire_system;
GRANT SELECT (unlinked_at) ON accounts TO chartwire_system;
-- For the erasure of a client, limited to that client by the tenant policy.
GRANT DELETE ON clients, requests TO chartwire_service;
