-- Search by part of a name. Under row-level security only leakproof comparisons reach an index: LIKE is not one of them,
-- whatever the index, but a range of texts is. A name contains a text if one of the name's suffixes begins with it, so the
-- suffixes are stored, and the search is `suffix >= … AND suffix < …` (records/nameSuffixes.ts).
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

-- The owner of the tables is subject to their policies, and names no tenant.
ALTER TABLE insurance_providers NO FORCE ROW LEVEL SECURITY;
ALTER TABLE referring_providers NO FORCE ROW LEVEL SECURITY;
ALTER TABLE patients NO FORCE ROW LEVEL SECURITY;

CALL keep_name_suffixes('insurance_providers', ARRAY['name_folded']);
CALL keep_name_suffixes('referring_providers', ARRAY['first_folded', 'last_folded']);
CALL keep_name_suffixes('patients', ARRAY['first_folded', 'last_folded']);

ALTER TABLE insurance_providers FORCE ROW LEVEL SECURITY;
ALTER TABLE referring_providers FORCE ROW LEVEL SECURITY;
ALTER TABLE patients FORCE ROW LEVEL SECURITY;

-- Without the record's id, equal suffixes of many records share one entry.
CREATE INDEX name_suffixes_search ON name_suffixes (client_id, organization_id, field, suffix);
CREATE INDEX name_suffixes_record ON name_suffixes (client_id, record_id);

ALTER TABLE name_suffixes ENABLE ROW LEVEL SECURITY;
ALTER TABLE name_suffixes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON name_suffixes TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON name_suffixes TO chartwire_service;
