-- Insurances of patients as a kind of record. A row whose `doc` is null has only our id, given to an insurance before a
-- sync read it.
ALTER TABLE patient_insurances RENAME COLUMN emr_insurance_id TO ehr_id;
ALTER TABLE patient_insurances
  ADD COLUMN patient_mrn    text,
  ADD COLUMN patient_ehr_id text,
  ADD COLUMN doc            json,
  ADD COLUMN source_hash    bytea NOT NULL DEFAULT '',
  ADD COLUMN seen_in        bigint NOT NULL DEFAULT 0,
  ADD COLUMN written_in     bigint;
CREATE INDEX patient_insurances_patient ON patient_insurances (client_id, organization_id, patient_ehr_id);
CREATE INDEX patient_insurances_mrn ON patient_insurances (client_id, organization_id, patient_mrn);
