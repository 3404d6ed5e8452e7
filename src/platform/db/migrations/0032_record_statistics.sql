-- Collects the planner's statistics of a table of records. Autovacuum does it up to a minute after a first sync, and
-- until then the planner may look up a patient by MRN in an index that only narrows the search to the practice.
CREATE FUNCTION analyze_records(kind text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = public, pg_temp AS $$
BEGIN
  -- Skipped if autovacuum, or the sync of another practice, is doing it.
  EXECUTE format('ANALYZE (SKIP_LOCKED) public.%I', kind);
END $$;

REVOKE ALL ON FUNCTION analyze_records(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION analyze_records(text) TO chartwire_system;
