-- How many accepted updates of a patient have not ended yet: it is `pending_update` until there are none.
ALTER TABLE patients ADD COLUMN open_updates integer NOT NULL DEFAULT 0 CHECK (open_updates >= 0);

-- What an intent was about to send, where a later try or the end of the job must know it.
ALTER TABLE job_steps ADD COLUMN kept json;

-- A state moves only as src/jobs/states.ts and src/model/patient.ts list it, whatever the code believes.
CREATE FUNCTION check_job_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.state, NEW.state) IN (
    ('queued', 'running'), ('running', 'queued'),
    ('running', 'succeeded'), ('running', 'partial'), ('running', 'failed'), ('running', 'needs_review')
  ) THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'A job does not move from % to %.', OLD.state, NEW.state;
END $$;
CREATE TRIGGER jobs_moves BEFORE UPDATE OF state ON jobs
  FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION check_job_move();

CREATE FUNCTION check_patient_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.status, NEW.status) IN (
    ('pending', 'active'), ('pending', 'failed'), ('failed', 'pending'),
    ('active', 'pending_update'), ('pending_update', 'active')
  ) THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'A patient does not move from % to %.', OLD.status, NEW.status;
END $$;
CREATE TRIGGER patients_moves BEFORE UPDATE OF status ON patients
  FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION check_patient_move();
