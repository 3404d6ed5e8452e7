-- A job that the client, or an operator, canceled before anything was sent to the EMR.
ALTER TABLE jobs DROP CONSTRAINT jobs_state_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_state_check
  CHECK (state IN ('queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review', 'cancelled'));
CREATE INDEX jobs_cancelled ON jobs (client_id, created_at DESC, id DESC) WHERE state = 'cancelled';

-- The legal transitions are listed in src/product/jobs/jobs.ts; a test compares the two.
CREATE OR REPLACE FUNCTION check_job_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.state, NEW.state) IN (
    ('queued', 'running'), ('running', 'queued'), ('queued', 'cancelled'),
    ('running', 'succeeded'), ('running', 'partial'), ('running', 'failed'), ('running', 'needs_review')
  ) THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'A job does not move from % to %.', OLD.state, NEW.state;
END $$;
