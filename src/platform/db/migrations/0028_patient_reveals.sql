-- The details of a patient's record can be revealed, as those of jobs, events and received requests.

ALTER TABLE operator_reveals DROP CONSTRAINT operator_reveals_kind_check;
ALTER TABLE operator_reveals ADD CONSTRAINT operator_reveals_kind_check
  CHECK (kind IN ('job', 'event', 'received_request', 'patient'));
