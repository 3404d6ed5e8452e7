-- Restores from a backup. What operations of before a restore did after the backup is not known: their writes are looked
-- up in the EMR by their markers before anything is sent.
CREATE TABLE restores (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  restored_at     timestamptz NOT NULL DEFAULT now(),
  -- Everything that was committed before this time is in the backup.
  backup_at       timestamptz NOT NULL,
  unfinished_jobs integer NOT NULL,
  -- The highest id of a job, and the highest number of a step, that the backup can contain.
  last_job_id     bigint NOT NULL,
  last_step       bigint NOT NULL
);
-- No tenant's data. The owner adds the rows.
GRANT SELECT ON restores TO chartwire_system;
