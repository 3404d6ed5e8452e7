-- What the dashboard looks at must stay fast beside a million jobs that have ended.
-- Newest syncs of an organisation: without it the search for the last of them walks all jobs that came after it.
CREATE INDEX jobs_syncs ON jobs (organisation_id, id) WHERE type = 'sync';
