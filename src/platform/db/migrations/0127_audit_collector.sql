-- How far the audit log was sent to the collector of the settings (AUDIT_COLLECTOR_URL), in one row. One process sends at
-- a time, by lease.
CREATE TABLE audit_collector (
  one           boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- The place in the chain of the last record that the collector has received.
  position      bigint NOT NULL DEFAULT 0,
  owner         text,
  fence         bigint NOT NULL DEFAULT 0,
  locked_until  timestamptz,
  -- The next attempt after a failure.
  next_at       timestamptz NOT NULL DEFAULT now(),
  failures      integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  failure       text
);
INSERT INTO audit_collector DEFAULT VALUES;
GRANT SELECT, UPDATE ON audit_collector TO chartwire_system;
