-- Tables from which an erasure deleted rows, or in which it may have left traces of rows that were deleted earlier.
-- PostgreSQL keeps the bytes of deleted rows in the table's files until the space is reused. A backup of the files
-- therefore rewrites these tables first, and then removes them from this list.
CREATE TABLE erased_tables (
  name      text PRIMARY KEY,
  erased_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON erased_tables TO chartwire_service;
