-- The client's own reference of a request, by which it finds the job. It may name a patient, so it is deleted with the
-- request.
ALTER TABLE jobs ADD COLUMN reference text;
CREATE INDEX jobs_reference ON jobs (client_id, reference, created_at DESC, id DESC) WHERE reference IS NOT NULL;
