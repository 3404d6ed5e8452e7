-- Reviews of who has access: what was shown, and what was decided about each row. The hash is in the audit log too.
CREATE TABLE access_reviews (
  id          uuid PRIMARY KEY,
  started_by  text NOT NULL,
  started_at  timestamptz NOT NULL DEFAULT now(),
  -- The rows of the report, as the JSON text that the hash covers. No secrets.
  rows        text NOT NULL,
  -- By the id of the row: confirmed or remove. Null until the review is attested, as all of these.
  decisions   text,
  note        text,
  hash        text,
  attested_by text,
  attested_at timestamptz,
  CHECK (num_nulls(decisions, note, hash, attested_by, attested_at) IN (0, 5))
);
GRANT SELECT, INSERT, DELETE, UPDATE (decisions, note, hash, attested_by, attested_at) ON access_reviews
  TO chartwire_system;
