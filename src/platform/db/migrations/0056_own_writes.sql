-- Who stored a record last. Null: a sync. Otherwise a write of ours: the run of the sync that was reading the list at that
-- time, whose pages may be older than the write, or 0 if none was. A run, not a time: the clocks of database servers differ
-- after a failover.
ALTER TABLE patients ADD COLUMN written_in bigint;
ALTER TABLE appointments ADD COLUMN written_in bigint;

-- Whether the pass left out records that a write of ours stored meanwhile. The next pass starts where this one did.
ALTER TABLE sync_passes ADD COLUMN skipped boolean NOT NULL DEFAULT false;
