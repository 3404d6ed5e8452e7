-- Which identifier of a patient is the MRN, as an operator set it: by system, by type, or both. Neither: not set.
ALTER TABLE emr_apps
  ADD COLUMN mrn_system text,
  ADD COLUMN mrn_type   text;
ALTER TABLE organizations
  ADD COLUMN mrn_system text,
  ADD COLUMN mrn_type   text,
  -- The rule that linking derived from a sample of patients: {"system", "type"}.
  ADD COLUMN mrn_guess  jsonb,
  -- The most writes that an account may send at the same time, where that is measured. Null: the connector's limit.
  ADD COLUMN parallel_writes_max integer CHECK (parallel_writes_max BETWEEN 1 AND 16);
-- The rule that the records of a list were read with. If it is another one now, the list is read in full.
ALTER TABLE sync_passes ADD COLUMN mrn_rule text NOT NULL DEFAULT '';

-- The largest document that the server may accept, as far as it is known from those that it refused.
ALTER TABLE accounts ADD COLUMN document_bytes_max integer;

-- How many lanes of an account may use its EMR at the same time, where that is measured.
CREATE TABLE write_limits (
  account_id uuid PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  parallel   integer NOT NULL,
  -- Successful creates since the last change or failure.
  creates    integer NOT NULL,
  -- Why `parallel` has its value.
  reason     text NOT NULL CHECK (reason IN ('start', 'creates', 'too_busy', 'collided', 'failed', 'setting')),
  -- Until then nothing is measured.
  held_until timestamptz,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX write_limits_client ON write_limits (client_id);

ALTER TABLE write_limits ENABLE ROW LEVEL SECURITY;
ALTER TABLE write_limits FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON write_limits TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON write_limits TO chartwire_service;
CREATE POLICY crossing ON write_limits TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (account_id, parallel) ON write_limits TO chartwire_system;

-- As in 0008, with the measured limit of the account in place of the lane's.
CREATE OR REPLACE FUNCTION claim_lanes(worker text, free integer, lease interval, since timestamptz)
  RETURNS TABLE (id uuid, client_id uuid, fence bigint, oldest timestamptz)
  LANGUAGE plpgsql AS $body$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock(7240002);
  RETURN QUERY
  WITH RECURSIVE turns AS (
    (SELECT account_id AS member FROM lanes WHERE ready_at >= since ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM lanes WHERE ready_at >= since AND account_id > turns.member
            ORDER BY account_id LIMIT 1)
      FROM turns WHERE turns.member IS NOT NULL
  ), held AS MATERIALIZED (
    SELECT account_id AS member, client_id, owner FROM lanes WHERE locked_until > clock_timestamp()
  ), waiting AS (
    SELECT row.id, row.client_id, row.ready_at,
           (SELECT count(*) FROM held WHERE held.member = turns.member)
             + row_number() OVER (PARTITION BY turns.member ORDER BY row.ready_at) AS turn,
           coalesce(measured.parallel, row.parallel_max) AS parallel_max
      FROM turns LEFT JOIN write_limits AS measured ON measured.account_id = turns.member
      CROSS JOIN LATERAL (
        SELECT id, client_id, ready_at, parallel_max FROM lanes
         WHERE account_id = turns.member AND ready_at BETWEEN since AND clock_timestamp()
           AND (locked_until IS NULL OR locked_until <= clock_timestamp())
         ORDER BY ready_at LIMIT free
      ) AS row
  ), ranked AS (
    SELECT id, ready_at, own.n + row_number() OVER (PARTITION BY client_id ORDER BY turn, ready_at) AS rank
      FROM waiting CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM held WHERE held.client_id = waiting.client_id AND held.owner = worker) AS own
     WHERE turn <= parallel_max
  ), placed AS (
    SELECT id, rank, row_number() OVER (ORDER BY rank, ready_at) AS place FROM ranked
  ), chosen AS (
    SELECT row.id FROM lanes AS row JOIN placed USING (id)
     -- `free` slots minus those given to earlier places are left; a client gets no more than that.
     WHERE placed.place <= free AND placed.rank <= free - placed.place + 1
       FOR UPDATE OF row SKIP LOCKED
  ), claimed AS (
    UPDATE lanes AS row SET locked_until = clock_timestamp() + lease, owner = worker, fence = row.fence + 1
      FROM chosen WHERE row.id = chosen.id
    RETURNING row.id, row.client_id, row.fence
  )
  SELECT claimed.id, claimed.client_id, claimed.fence, NULL::timestamptz FROM claimed
  UNION ALL
  SELECT NULL, NULL, NULL, coalesce(min(waiting.ready_at), statement_timestamp() - interval '2 seconds') FROM waiting;
END $body$;
