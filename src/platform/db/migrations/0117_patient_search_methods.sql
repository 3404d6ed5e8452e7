-- By what the server of an account can search patients is a capability of its own. Until the account's capabilities are
-- read again, all methods count as supported, as before.
DO $$ BEGIN
  ALTER TABLE accounts NO FORCE ROW LEVEL SECURITY;
  UPDATE accounts SET capabilities = capabilities ||
    '{searchPatients.dob,searchPatients.first_name,searchPatients.last_name,searchPatients.phone,searchPatients.mrn}'::text[]
   WHERE 'searchPatients' = ANY (capabilities);
  ALTER TABLE accounts FORCE ROW LEVEL SECURITY;
END $$;
