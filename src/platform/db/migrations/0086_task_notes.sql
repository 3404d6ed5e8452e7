-- Notes on tasks name only the task. By this column, those on a patient's tasks are found (see patientLane.ts).
ALTER TABLE operations
  ADD COLUMN task_ehr_id text GENERATED ALWAYS AS (left(input ->> 'emr_task_id', 200)) STORED;

CREATE INDEX operations_task ON operations (client_id, task_ehr_id) WHERE task_ehr_id IS NOT NULL;
