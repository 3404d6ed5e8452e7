-- The directory of practices, in which people who link an account find their practice. It belongs to the installation: it
-- contains what EMR vendors publish, and nothing of a client or a patient.

CREATE TABLE directory_sources (
  id              uuid PRIMARY KEY,
  -- What the operator calls it by: the URL, or the name of the file.
  name            text NOT NULL UNIQUE,
  -- Null for a file, which is not read again by itself.
  url             text,
  etag            text,
  -- Counts the imports. A practice that the last one did not contain has a lower number.
  run             bigint NOT NULL DEFAULT 0,
  created_at      timestamptz NOT NULL DEFAULT now(),
  imported_at     timestamptz,
  -- When a URL is read again; null for a file.
  next_read_at    timestamptz,
  -- One import at a time: a lease that its process extends.
  import_id       uuid,
  importing_until timestamptz,
  failing_since   timestamptz,
  failure         text,
  -- Removals that wait for an operator, because too many practices were missing.
  held_missing    integer,
  held_stored     integer
);
CREATE INDEX directory_sources_due ON directory_sources (next_read_at) WHERE next_read_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON directory_sources TO chartwire_system;

CREATE TABLE practices (
  id            uuid PRIMARY KEY,
  source_id     uuid NOT NULL REFERENCES directory_sources ON DELETE CASCADE,
  -- Identifies the practice in its source, so that it keeps its ID when the source is read again.
  source_key    text NOT NULL,
  name          text NOT NULL,
  -- Folded, words separated by one blank.
  name_key      text COLLATE "C" NOT NULL,
  aliases       text[] NOT NULL,
  -- The name of the organization that it belongs to.
  parent        text,
  city          text,
  state         text,
  postal_code   text,
  npi           text,
  connector     text NOT NULL,
  -- As published, with a scheme; `address_key` is for comparison.
  address       text NOT NULL,
  address_key   text NOT NULL,
  -- Parameters that every search in its EMR needs, where practices share an address.
  search_params jsonb,
  content_hash  bytea NOT NULL,
  seen_in       bigint NOT NULL,
  last_seen     timestamptz NOT NULL,
  UNIQUE (source_id, source_key)
);
CREATE INDEX practices_name ON practices (name_key, id) INCLUDE (state);
CREATE INDEX practices_seen ON practices (source_id, seen_in);
GRANT SELECT ON practices TO chartwire_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON practices TO chartwire_system;

-- The words by which practices are found. `field`: 0 name, 1 alias, 2 parent, 3 city and state.
-- Without a foreign key, whose check of each of a million rows would double the time of an import; see the trigger.
CREATE TABLE practice_words (
  practice_id uuid NOT NULL,
  field       smallint NOT NULL,
  word        text COLLATE "C" NOT NULL,
  state       text
);
CREATE INDEX practice_words_prefix ON practice_words (field, word, practice_id) INCLUDE (state);
CREATE INDEX practice_words_practice ON practice_words (practice_id, word);
GRANT SELECT ON practice_words TO chartwire_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON practice_words TO chartwire_system;

CREATE FUNCTION remove_practice_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM practice_words USING removed WHERE practice_id = removed.id;
  RETURN NULL;
END $$;
CREATE TRIGGER practices_removed AFTER DELETE ON practices REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION remove_practice_words();
