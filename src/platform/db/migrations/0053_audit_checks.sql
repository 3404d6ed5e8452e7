-- Fails a statement that stores audit records together with other rows, if fewer of them were stored than expected: a
-- trigger or a rule can drop rows without an error.
CREATE FUNCTION require_audit_records(stored bigint, expected bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF stored <> expected THEN
    RAISE EXCEPTION '% of % audit records were stored', stored, expected;
  END IF;
  RETURN true;
END $$;
