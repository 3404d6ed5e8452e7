-- Requests are partitioned by the day of their arrival, which their ids begin with. Expired days are dropped, which takes
-- milliseconds and leaves no dead rows. The partitions have a schema of their own: all access is through the table.

-- The smallest id of a moment.
CREATE FUNCTION first_id_at(moment timestamptz) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS
  $$ SELECT (lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;

CREATE SCHEMA partitions;
ALTER TABLE requests SET SCHEMA partitions;
ALTER TABLE partitions.requests RENAME TO requests_first;
ALTER TABLE partitions.requests_first DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
DROP POLICY tenant ON partitions.requests_first;
DROP POLICY crossing ON partitions.requests_first;
REVOKE ALL ON partitions.requests_first FROM chartwire_service, chartwire_system;

CREATE TABLE requests (LIKE partitions.requests_first) PARTITION BY RANGE (id);
ALTER TABLE requests ADD PRIMARY KEY (id);
CREATE INDEX requests_client ON requests (client_id, id);
-- Failed requests are few, and what operators search for.
CREATE INDEX requests_failed ON requests (id) WHERE status >= 400;

ALTER TABLE requests ENABLE ROW LEVEL SECURITY;
ALTER TABLE requests FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON requests TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
CREATE POLICY crossing ON requests TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, DELETE ON requests TO chartwire_service;
GRANT SELECT, INSERT, DELETE ON requests TO chartwire_system;

-- Rows of days that nobody prepared, because no worker ran or a clock is wrong.
CREATE TABLE partitions.requests_other PARTITION OF requests DEFAULT;

-- The rows that exist, and those of the rest of the day.
DO $$
DECLARE
  until timestamptz;
BEGIN
  SELECT date_trunc('day', greatest(now(), max(at)), 'UTC') + interval '1 day' INTO until FROM partitions.requests_first;
  EXECUTE format('ALTER TABLE requests ATTACH PARTITION partitions.requests_first FOR VALUES FROM (MINVALUE) TO (%L)',
    first_id_at(until));
END $$;

-- Creates the partitions of today and the next two days. Days whose rows are in another partition already are left there.
CREATE FUNCTION prepare_request_days() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  today timestamptz := date_trunc('day', now(), 'UTC');
  day timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('chartwire.request_days', 0));
  FOR n IN 0..2 LOOP
    day := today + make_interval(days => n);
    BEGIN
      EXECUTE format('CREATE TABLE IF NOT EXISTS partitions.%I PARTITION OF requests FOR VALUES FROM (%L) TO (%L)',
        'requests_' || to_char(day AT TIME ZONE 'UTC', 'YYYYMMDD'), first_id_at(day), first_id_at(day + interval '1 day'));
    EXCEPTION WHEN invalid_object_definition OR check_violation THEN
      NULL;
    END;
  END LOOP;
END $$;

-- Drops the partitions whose last day is more than `days` ago and returns how many.
CREATE FUNCTION drop_request_days(days integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  name text;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('chartwire.request_days', 0));
  FOR name IN
    SELECT partition.oid::regclass::text FROM pg_inherits JOIN pg_class AS partition ON partition.oid = inhrelid
     WHERE inhparent = 'public.requests'::regclass
       AND substring(pg_get_expr(relpartbound, partition.oid) FROM $bound$TO \('([0-9a-f-]{36})'\)$bound$)::uuid
           <= first_id_at(now() - make_interval(days => greatest(days, 1)))
  LOOP
    EXECUTE format('DROP TABLE %s', name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;

REVOKE ALL ON FUNCTION prepare_request_days(), drop_request_days(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prepare_request_days(), drop_request_days(integer) TO chartwire_system;

SELECT prepare_request_days();
