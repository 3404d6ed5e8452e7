-- The log of HTTP requests of the last days: no bodies and no addresses, only the endpoint's id. Like the audit log, it
-- contains no health data. `client_id` is null for unauthenticated requests.
--
-- Requests are partitioned by the day of their arrival, which their ids begin with. Expired days are dropped, which takes
-- milliseconds and leaves no dead rows. The partitions have a schema of their own: all access is through the table.
CREATE TABLE requests (
  id             uuid PRIMARY KEY,
  at             timestamptz NOT NULL,
  client_id      uuid,
  account_id     uuid,
  endpoint       text NOT NULL,
  method         text NOT NULL,
  -- Only set where no endpoint matched, and contains only segments of declared paths: any other segment could be an MRN or
  -- a name.
  path           text,
  -- In the sandbox, whose patients are synthetic: the path that was sent.
  sent_path      text,
  status         integer NOT NULL,
  duration_ms    integer NOT NULL,
  response_bytes bigint,
  -- What helps to find the cause of an error: its code, the field, the job, and the values that its message names, as far
  -- as they are ours.
  code           text,
  field          text,
  job_id         bigint,
  message_values json
) PARTITION BY RANGE (id);
CREATE INDEX requests_client ON requests (client_id, id);
-- Failed requests are few, and what operators search for.
CREATE INDEX requests_failed ON requests (id) WHERE status >= 400;
CALL limit_to_tenant('requests');
CREATE POLICY crossing ON requests TO chartwire_system USING (true) WITH CHECK (true);
-- DELETE: for the erasure of a client.
GRANT SELECT, DELETE ON requests TO chartwire_service;
GRANT SELECT, INSERT, DELETE ON requests TO chartwire_system;

CREATE SCHEMA partitions;
-- Rows of days that nobody prepared, because no worker ran or a clock is wrong.
CREATE TABLE partitions.requests_other PARTITION OF requests DEFAULT;

-- The smallest id of a moment.
CREATE FUNCTION first_id_at(moment timestamptz) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS
  $$ SELECT (lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;

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

-- Which of the clients and accounts that requests name exist. Their rows are locked until the requests are stored, as a
-- foreign key would do: an erasure waits for the requests, and deletes them. The owners that an erasure has locked are left
-- out, so that the requests of others do not wait for it.
CREATE FUNCTION lock_request_owners(ids uuid[]) RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = public, pg_temp AS $$
BEGIN
  RETURN QUERY SELECT clients.id FROM clients WHERE clients.id = ANY (ids) FOR KEY SHARE SKIP LOCKED;
  RETURN QUERY SELECT accounts.id FROM accounts WHERE accounts.id = ANY (ids) FOR KEY SHARE SKIP LOCKED;
END $$;

REVOKE ALL ON FUNCTION lock_request_owners(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lock_request_owners(uuid[]) TO chartwire_system;
