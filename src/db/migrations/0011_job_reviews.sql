-- What an operator does about a job that has ended. Its state stays, and so does its one event.
ALTER TABLE jobs
  -- The job of the same operation that this one repeats.
  ADD COLUMN run_again_of   bigint,
  -- What a person found in the EMR where the service could not tell.
  ADD COLUMN review_outcome text CHECK (review_outcome IN ('done', 'not_done')),
  ADD COLUMN review_note    text,
  ADD COLUMN reviewed_by    text,
  ADD COLUMN reviewed_at    timestamptz,
  ADD CONSTRAINT jobs_review CHECK (review_outcome IS NULL OR
    (state = 'needs_review' AND review_note IS NOT NULL AND reviewed_by IS NOT NULL AND reviewed_at IS NOT NULL));
-- Of two who ask for another run at the same moment one is refused, whatever the code believes.
CREATE UNIQUE INDEX jobs_run_again ON jobs (run_again_of) WHERE run_again_of IS NOT NULL;

-- Lists of a client's jobs, newest first. Most jobs succeed: only the others are kept by state, so that the index
-- costs a job that goes well nothing. Waiting ones are found by jobs_waiting.
CREATE INDEX jobs_newest ON jobs (client_id, created_at DESC, id DESC);
CREATE INDEX jobs_of_type ON jobs (client_id, type, created_at DESC, id DESC);
CREATE INDEX jobs_of_account ON jobs (account_id, created_at DESC, id DESC);
CREATE INDEX jobs_in_trouble ON jobs (client_id, state, created_at DESC, id DESC)
  WHERE state IN ('partial', 'failed', 'needs_review');

-- The jobs of a patient: by MRN, and for an action, which names an encounter and no patient, by the encounter. Columns
-- of their own: under row-level security an index on an expression of `input` is not used (-> is not leakproof). No such
-- name has 200 characters, and more than 2,700 bytes do not fit into an index.
ALTER TABLE operations
  ADD COLUMN patient_mrn      text GENERATED ALWAYS AS (left(coalesce(input ->> 'patient_mrn', input ->> 'mrn'), 200)) STORED,
  ADD COLUMN encounter_ehr_id text GENERATED ALWAYS AS (left(input ->> 'emr_appointment_id', 200)) STORED;
CREATE INDEX operations_patient ON operations (client_id, patient_mrn) WHERE patient_mrn IS NOT NULL;
CREATE INDEX operations_encounter ON operations (client_id, encounter_ehr_id) WHERE encounter_ehr_id IS NOT NULL;

-- How many wait for a person is told across clients.
GRANT SELECT (review_outcome) ON jobs TO chartwire_system;
