-- The change feed: one row per record of the kinds that it shows, with the transaction that changed the record last. With
-- each change the row moves to the end of the feed, so a reader that starts anew reads no more rows than there are records.
-- A deleted record keeps its row for a month. Transaction ids are stored as bigint, whose comparisons can use an index
-- under row-level security.

-- Transaction ids are comparable within one database cluster only. Each copy or restore of the database is a generation of
-- its own: its ids come after all ids before.
CREATE TABLE change_generations (
  generation        integer PRIMARY KEY,
  system_identifier bigint NOT NULL,
  started_at        timestamptz NOT NULL DEFAULT now()
);
INSERT INTO change_generations (generation, system_identifier)
  SELECT 1, system_identifier FROM pg_control_system();

-- Failovers, as far as the service noticed them. What a server had shown after `branched_at` may be lost; null if it is not
-- known where that was.
CREATE TABLE change_timelines (
  generation  integer NOT NULL REFERENCES change_generations ON DELETE CASCADE,
  timeline    integer NOT NULL,
  branched_at pg_lsn,
  noticed_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (generation, timeline)
);
GRANT SELECT, INSERT ON change_generations, change_timelines TO chartwire_system;

-- For the triggers below, which run as the service's role.
CREATE FUNCTION change_generation() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = public, pg_temp AS 'SELECT max(generation) FROM change_generations';
-- The timelines of the current generation, as JSON.
CREATE FUNCTION change_branches() RETURNS json LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = public, pg_temp AS $$
  SELECT coalesce(json_agg(json_build_object('timeline', timeline, 'branched_at', branched_at)), '[]')
    FROM change_timelines WHERE generation = (SELECT max(generation) FROM change_generations)
$$;
REVOKE ALL ON FUNCTION change_generation(), change_branches() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION change_generation(), change_branches() TO chartwire_service, chartwire_system;

-- The WAL file's name begins with the timeline. The checkpoint's timeline is the old one for a while after a failover.
CREATE FUNCTION current_timeline() RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer
$$;

CREATE TABLE record_changes (
  record_id       uuid PRIMARY KEY,
  client_id       uuid NOT NULL,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  kind            text NOT NULL,
  emr_id          text,
  deleted         boolean NOT NULL DEFAULT false,
  generation      integer NOT NULL,
  xid             bigint NOT NULL,
  changed_at      timestamptz NOT NULL
);
-- By kind, so that a reader of few records does not pass the changes of the others.
CREATE INDEX record_changes_order ON record_changes (client_id, organization_id, kind, generation, xid, record_id);
-- How far the feed is behind, and whether the ids are those of this cluster.
CREATE INDEX record_changes_newest ON record_changes (generation, xid);
CREATE INDEX record_changes_deleted ON record_changes (changed_at) WHERE deleted;

ALTER TABLE record_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE record_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON record_changes TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
CREATE POLICY crossing ON record_changes TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON record_changes TO chartwire_service;
GRANT SELECT (record_id, deleted, generation, xid, changed_at), DELETE ON record_changes TO chartwire_system;

-- The columns of a change by the current transaction.
CREATE FUNCTION add_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO record_changes (record_id, client_id, organization_id, kind, emr_id, generation, xid, changed_at)
    SELECT id, client_id, organization_id, TG_TABLE_NAME, ehr_id,
           change_generation(), pg_current_xact_id()::text::bigint, clock_timestamp()
      FROM changed
    ON CONFLICT (record_id) DO UPDATE SET emr_id = excluded.emr_id, deleted = false, generation = excluded.generation,
      xid = excluded.xid, changed_at = excluded.changed_at;
  RETURN NULL;
END $$;

-- A sync that stores what is stored already changes nothing but these times. Not as jsonb, which does not have every text.
CREATE FUNCTION untimed(doc json) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT regexp_replace(doc::text, '"(updated_at|synced_at)" ?: ?"[^"]*"', '', 'g')
$$;

CREATE FUNCTION move_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE record_changes SET emr_id = NEW.ehr_id, generation = change_generation(),
         xid = pg_current_xact_id()::text::bigint, changed_at = clock_timestamp()
   WHERE record_id = NEW.id;
  RETURN NULL;
END $$;

-- An UPDATE, not an upsert: an organization that is being deleted has no changes any more. An erasure leaves nothing by
-- which the EMR knows the record.
CREATE FUNCTION end_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE record_changes AS kept SET deleted = true, generation = change_generation(),
         emr_id = CASE WHEN current_setting('chartwire.erasing', true) = 'true' THEN NULL ELSE kept.emr_id END,
         xid = pg_current_xact_id()::text::bigint, changed_at = clock_timestamp()
    FROM changed WHERE kept.record_id = changed.id;
  RETURN NULL;
END $$;

-- Adds a kind to the feed, with the records that are stored already.
CREATE PROCEDURE keep_changes(kind text) LANGUAGE plpgsql AS $procedure$
BEGIN
  EXECUTE format('CREATE TRIGGER %I AFTER INSERT ON %I REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION add_changes()', kind || '_change_added', kind);
  EXECUTE format('CREATE TRIGGER %I AFTER UPDATE OF doc ON %I FOR EACH ROW
    WHEN (untimed(OLD.doc) IS DISTINCT FROM untimed(NEW.doc)) EXECUTE FUNCTION move_change()',
    kind || '_change_moved', kind);
  EXECUTE format('CREATE TRIGGER %I AFTER DELETE ON %I REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION end_changes()', kind || '_change_ended', kind);
  EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', kind);
  EXECUTE format('INSERT INTO record_changes (record_id, client_id, organization_id, kind, emr_id, generation, xid, changed_at)
    SELECT id, client_id, organization_id, %L, ehr_id, change_generation(), pg_current_xact_id()::text::bigint, now()
      FROM %I', kind, kind);
  EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', kind);
END $procedure$;
REVOKE ALL ON PROCEDURE keep_changes(text) FROM PUBLIC;

ALTER TABLE record_changes NO FORCE ROW LEVEL SECURITY;
CALL keep_changes('patients');
CALL keep_changes('appointments');
CALL keep_changes('orders');
CALL keep_changes('claims');
ALTER TABLE record_changes FORCE ROW LEVEL SECURITY;
