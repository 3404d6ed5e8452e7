-- What the dashboard looks at must stay fast beside a million jobs that have ended.

-- Newest syncs of an organization: without it the search for the last of them walks all jobs that came after it.
CREATE INDEX jobs_syncs ON jobs (organization_id, id) WHERE type = 'sync';
-- Ends of jobs over time: everything the charts need is in the index, so that the rows are not read.
CREATE INDEX jobs_ended ON jobs (client_id, finished_at) INCLUDE (state, created_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_to_review ON jobs (client_id, id) WHERE state = 'needs_review';

-- The jobs of a client that ended within half an hour, summed up by whoever looks first after it: an ended job does not
-- change. A chart of a week with a million jobs took 4.5 s from the jobs themselves.
CREATE TABLE job_periods (
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  at           timestamptz NOT NULL,
  succeeded    integer NOT NULL,
  partial      integer NOT NULL,
  failed       integer NOT NULL,
  needs_review integer NOT NULL,
  -- How long they took since they were accepted: pairs of a power of 1.1 in seconds and how many took about that.
  taken        json NOT NULL,
  PRIMARY KEY (client_id, at)
);
ALTER TABLE job_periods ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_periods FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON job_periods TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON job_periods TO chartwire_service;
