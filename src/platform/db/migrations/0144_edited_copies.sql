-- The failed job whose request an operator has edited and sent again. Without a reference: the job may be deleted earlier.
ALTER TABLE operations ADD COLUMN edited_from_job_id bigint;
-- A job has one edited copy; a copy that has failed is edited in turn.
CREATE UNIQUE INDEX operations_edited_from ON operations (edited_from_job_id) WHERE edited_from_job_id IS NOT NULL;
