-- What is kept about the records of EMRs besides the records themselves, which are in 0008 and 0009: totals, the parts of
-- names, and changes. Triggers on the tables of the records maintain all three.

-- Totals --------------------------------------------------------------------------------------------------------------

-- Totals of unfiltered lists: counting a million rows takes a second.
CREATE TABLE record_counts (
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  kind            text NOT NULL,
  total           bigint NOT NULL,
  PRIMARY KEY (organization_id, kind)
);
CALL limit_to_tenant('record_counts');
GRANT SELECT, INSERT, UPDATE, DELETE ON record_counts TO chartwire_service;

CREATE FUNCTION count_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO record_counts (client_id, organization_id, kind, total)
    SELECT client_id, organization_id, TG_TABLE_NAME, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed GROUP BY client_id, organization_id
    ON CONFLICT (organization_id, kind) DO UPDATE SET total = record_counts.total + excluded.total;
  RETURN NULL;
END $$;

CREATE FUNCTION uncount_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- An UPDATE, not an upsert: an organization that is being deleted has no counts any more.
  UPDATE record_counts AS kept SET total = kept.total - gone.n
    FROM (SELECT organization_id, count(*) AS n FROM changed GROUP BY organization_id) AS gone
    WHERE kept.organization_id = gone.organization_id AND kept.kind = TG_TABLE_NAME;
  RETURN NULL;
END $$;

-- Maintains the total of an empty table.
CREATE PROCEDURE keep_count(kind text) LANGUAGE plpgsql AS $procedure$
BEGIN
  EXECUTE format('CREATE TRIGGER %I AFTER INSERT ON %I REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_records()', kind || '_added', kind);
  EXECUTE format('CREATE TRIGGER %I AFTER DELETE ON %I REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION uncount_records()', kind || '_removed', kind);
END $procedure$;
REVOKE ALL ON PROCEDURE keep_count(text) FROM PUBLIC;

-- Search by part of a name --------------------------------------------------------------------------------------------

-- Under row-level security only leakproof comparisons reach an index: LIKE is not one of them, whatever the index, but a
-- range of texts is. A name contains a text if one of the name's suffixes begins with it, so the suffixes are stored, and
-- the search is `suffix >= … AND suffix < …` (src/product/records/nameSuffixes.ts).
--
-- A suffix is cut after 32 characters, so that a long name needs no more space per character than a short one. The search
-- compares the whole name again. Searches for fewer than three characters do not use the table, so that suffixes with
-- fewer are not stored.
--
-- No foreign keys: a patient has about ten suffixes, and to check two keys for each doubled the time to store a patient.
-- Triggers delete suffixes with their record.
CREATE TABLE name_suffixes (
  client_id       uuid NOT NULL,
  organization_id uuid NOT NULL,
  -- The table and the column of the name, such as `patients.last_folded`.
  field           text COLLATE "C" NOT NULL,
  suffix          text COLLATE "C" NOT NULL,
  record_id       uuid NOT NULL
);
-- Without the record's id, equal suffixes of many records share one entry.
CREATE INDEX name_suffixes_search ON name_suffixes (client_id, organization_id, field, suffix);
CREATE INDEX name_suffixes_record ON name_suffixes (client_id, record_id);
CALL limit_to_tenant('name_suffixes');
GRANT SELECT, INSERT, DELETE ON name_suffixes TO chartwire_service;

CREATE FUNCTION suffixes_of(name text) RETURNS SETOF text IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT substr(name, start, 32) FROM generate_series(1, length(name) - 2) AS start
$$;

CREATE FUNCTION remove_name_suffixes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Arrays, not a join: the plan is kept for the session and must suit one record as well as thousands.
  DELETE FROM name_suffixes WHERE client_id = ANY (ARRAY(SELECT DISTINCT client_id FROM changed))
    AND record_id = ANY (ARRAY(SELECT id FROM changed));
  RETURN NULL;
END $$;

-- Adds the suffixes of a table's columns, and triggers that keep them. A row whose name does not change fires none: most
-- updates only note that a sync has seen the row.
CREATE PROCEDURE keep_name_suffixes(kind text, columns text[]) LANGUAGE plpgsql AS $procedure$
DECLARE
  function_name text := kind || '_named';
  listed text := (SELECT string_agg(quote_ident(name), ', ') FROM unnest(columns) AS name);
  old_names text := (SELECT string_agg(format('OLD.%I', name), ', ') FROM unnest(columns) AS name);
  new_names text := (SELECT string_agg(format('NEW.%I', name), ', ') FROM unnest(columns) AS name);
  named text := (SELECT string_agg(format('(%L, %I)', kind || '.' || name, name), ', ') FROM unnest(columns) AS name);
  -- To be formatted with the rows whose suffixes are added.
  insertion text := 'INSERT INTO name_suffixes (client_id, organization_id, field, suffix, record_id)
      SELECT client_id, organization_id, field, suffix, id FROM %s AS changed
       CROSS JOIN LATERAL (VALUES ' || named || ') AS named (field, name)
       CROSS JOIN LATERAL suffixes_of(name) AS suffix';
BEGIN
  EXECUTE format(insertion, quote_ident(kind));
  EXECUTE format($create$CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM name_suffixes WHERE client_id = OLD.client_id AND record_id = OLD.id;
    %s;
  ELSE
    %s;
  END IF;
  RETURN NULL;
END $body$$create$, function_name, format(insertion, '(SELECT NEW.*)'), format(insertion, 'changed'));
  EXECUTE format('CREATE TRIGGER %I AFTER INSERT ON %I REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION %I()', kind || '_named', kind, function_name);
  EXECUTE format('CREATE TRIGGER %I AFTER UPDATE OF %s ON %I FOR EACH ROW
    WHEN ((%s) IS DISTINCT FROM (%s)) EXECUTE FUNCTION %I()',
    kind || '_renamed', listed, kind, old_names, new_names, function_name);
  EXECUTE format('CREATE TRIGGER %I AFTER DELETE ON %I REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION remove_name_suffixes()', kind || '_unnamed', kind);
END $procedure$;
REVOKE ALL ON PROCEDURE keep_name_suffixes(text, text[]) FROM PUBLIC;

-- The change feed -----------------------------------------------------------------------------------------------------

-- One row per record of the kinds in the feed, with the transaction that changed the record last. With each change the row
-- moves to the end of the feed, so that a reader that starts from the beginning reads no more rows than there are records.
-- A deleted record keeps its row for a month. Transaction ids are stored as bigint, whose comparisons can use an index
-- under row-level security.
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
CALL limit_to_tenant('record_changes');
CREATE POLICY crossing ON record_changes TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON record_changes TO chartwire_service;
GRANT SELECT (record_id, deleted, generation, xid, changed_at), DELETE ON record_changes TO chartwire_system;

-- Transaction ids are comparable within one database cluster only. Each copy or restore of the database is a generation of
-- its own: its ids come after all ids before.
CREATE TABLE change_generations (
  generation        integer PRIMARY KEY,
  system_identifier bigint NOT NULL,
  started_at        timestamptz NOT NULL DEFAULT now()
);
INSERT INTO change_generations (generation, system_identifier) SELECT 1, system_identifier FROM pg_control_system();
GRANT SELECT, INSERT ON change_generations TO chartwire_system;

-- Failovers, as far as the service noticed them. What a server had shown after `branched_at` may be lost; null if it is not
-- known where that was.
CREATE TABLE change_timelines (
  generation  integer NOT NULL REFERENCES change_generations ON DELETE CASCADE,
  timeline    integer NOT NULL,
  branched_at pg_lsn,
  noticed_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (generation, timeline)
);
GRANT SELECT, INSERT ON change_timelines TO chartwire_system;

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

-- Statistics ----------------------------------------------------------------------------------------------------------

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
