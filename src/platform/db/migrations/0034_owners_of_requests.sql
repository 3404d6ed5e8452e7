-- The clients and accounts that exist, out of those that requests name. Their rows are locked until the requests are
-- stored, as a foreign key would do: an erasure waits for the requests, and deletes them. The owners that an erasure has
-- locked are left out, so that the requests of others do not wait for it.
CREATE FUNCTION lock_request_owners(ids uuid[]) RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = public, pg_temp AS $$
BEGIN
  RETURN QUERY SELECT clients.id FROM clients WHERE clients.id = ANY (ids) FOR KEY SHARE SKIP LOCKED;
  RETURN QUERY SELECT accounts.id FROM accounts WHERE accounts.id = ANY (ids) FOR KEY SHARE SKIP LOCKED;
END $$;

REVOKE ALL ON FUNCTION lock_request_owners(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lock_request_owners(uuid[]) TO chartwire_system;
