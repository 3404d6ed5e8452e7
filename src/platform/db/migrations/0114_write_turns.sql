-- Who writes to an EMR that handles one write at a time, whoever sends it. A row with a lease, not a lock: no transaction
-- is open during the call to the EMR. It belongs to the installation, because clients may share an EMR; the address is
-- stored as a hash. Deleted when the write has ended.
CREATE TABLE write_turns (
  address_hash bytea PRIMARY KEY,
  owner        uuid NOT NULL,
  locked_until timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON write_turns TO chartwire_system;

-- The visit types of an EMR that does not list them, as an operator set them: [{"code", "description", "minutes"}].
ALTER TABLE organizations ADD COLUMN visit_types jsonb;
