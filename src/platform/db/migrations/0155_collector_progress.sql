-- When the collector has accepted records last. While it catches up with an old log, its oldest record is old, and nothing
-- is wrong.
ALTER TABLE audit_collector ADD COLUMN accepted_at timestamptz;
