-- How long a job waited for its account to be re-linked, which is not processing time. The index serves the charts.
ALTER TABLE jobs ADD COLUMN parked_ms bigint NOT NULL DEFAULT 0;
DROP INDEX jobs_ended;
CREATE INDEX jobs_ended ON jobs (client_id, finished_at) INCLUDE (state, created_at, parked_ms)
  WHERE finished_at IS NOT NULL;

-- `field` and `job_id` help to find the cause of an error. `path` is only set where no endpoint matched, and contains only
-- segments of declared paths: any other segment could be an MRN or a name.
ALTER TABLE requests ADD COLUMN path text, ADD COLUMN field text, ADD COLUMN job_id bigint;
