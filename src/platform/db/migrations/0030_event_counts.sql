-- Totals of an account's older events, of each type and ('') of all, so that a page need not count a million of them. Counted
-- when a page finds many that are not in a total; a write costs nothing. A total covers the events after counted_from and
-- up to counted_to, and all totals of an account cover the same time.
CREATE TABLE event_counts (
  account_id   uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  type         text NOT NULL,
  counted_from timestamptz NOT NULL,
  counted_to   timestamptz NOT NULL,
  total        bigint NOT NULL CHECK (total >= 0),
  PRIMARY KEY (account_id, type)
);

ALTER TABLE event_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON event_counts TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON event_counts TO chartwire_service;

-- The purge deletes events of all tenants.
CREATE POLICY crossing ON event_counts TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (account_id, type, counted_from, counted_to, total), UPDATE (total) ON event_counts TO chartwire_system;

-- Held by whoever counts the events of an account, and shared by those that delete some. Otherwise a count could include
-- events whose deletion is not committed yet, and the deletion would find no total to change.
CREATE FUNCTION event_counts_lock(account_id uuid) RETURNS bigint LANGUAGE sql IMMUTABLE
  RETURN hashtextextended('chartwire.event_counts ' || account_id, 0);

CREATE FUNCTION uncount_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(event_counts_lock(account_id))
    FROM (SELECT DISTINCT account_id FROM deleted ORDER BY account_id) AS accounts;
  UPDATE event_counts AS counted SET total = counted.total - gone.n
    FROM (SELECT counted.account_id, counted.type, count(*) AS n
            FROM deleted JOIN event_counts AS counted ON counted.account_id = deleted.account_id
             AND counted.type IN ('', deleted.type)
             AND deleted.created_at > counted.counted_from AND deleted.created_at <= counted.counted_to
           GROUP BY counted.account_id, counted.type ORDER BY counted.account_id, counted.type) AS gone
   WHERE counted.account_id = gone.account_id AND counted.type = gone.type;
  RETURN NULL;
END $$;

CREATE TRIGGER uncount AFTER DELETE ON events REFERENCING OLD TABLE AS deleted
  FOR EACH STATEMENT EXECUTE FUNCTION uncount_events();
