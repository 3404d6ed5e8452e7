-- Patients and their records. See 0008 for the columns that all kinds have.

CREATE TABLE patients (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- Null until the EMR has stored a requested patient, as the MRN.
  ehr_id          text,
  mrn             text,
  status          text NOT NULL CHECK (status IN ('pending', 'failed', 'active', 'pending_update')),
  -- Accepted updates that have not finished: the patient is `pending_update` until there are none.
  open_updates    integer NOT NULL DEFAULT 0 CHECK (open_updates >= 0),
  first_folded    text NOT NULL,
  last_folded     text NOT NULL,
  dob             text,
  -- Digits without the country code.
  phone           text,
  cell_phone      text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  written_in      bigint,
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX patients_by_id ON patients (client_id, organization_id, id);
-- One or two letters of a name are matched while walking this narrow index, which contains the names, and the wide
-- documents are fetched for the page alone.
CREATE INDEX patients_names ON patients (client_id, organization_id, last_folded, first_folded, id);
CREATE INDEX patients_mrn ON patients (client_id, organization_id, mrn);
CREATE INDEX patients_dob ON patients (client_id, organization_id, dob);
CREATE INDEX patients_phone ON patients (client_id, organization_id, phone);
CREATE INDEX patients_cell_phone ON patients (client_id, organization_id, cell_phone);
CALL limit_to_tenant('patients');
GRANT SELECT, INSERT, UPDATE, DELETE ON patients TO chartwire_service;
CALL keep_count('patients');
CALL keep_name_suffixes('patients', ARRAY['first_folded', 'last_folded']);
CALL keep_changes('patients');

-- The legal transitions are listed in src/model/records/patients.ts; a test compares the two.
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

-- Charts that were merged into another one in the EMR. Requests that still name their MRN are for the surviving chart.
-- `merged_into`: its EMR id, which may itself have been merged since.
CREATE TABLE merged_charts (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  mrn             text NOT NULL,
  merged_into     text NOT NULL,
  PRIMARY KEY (organization_id, ehr_id)
);
CREATE INDEX merged_charts_mrn ON merged_charts (client_id, organization_id, mrn);
CALL limit_to_tenant('merged_charts');
GRANT SELECT, INSERT, UPDATE, DELETE ON merged_charts TO chartwire_service;

-- A requested appointment has no EMR id until the EMR has stored it. Availability is computed from the columns.
CREATE TABLE appointments (
  id                        uuid PRIMARY KEY,
  client_id                 uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id           uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id                    text,
  -- Where the appointment was created: `emr`, or `api` for a booking of ours.
  source                    text NOT NULL DEFAULT 'emr' CHECK (source IN ('emr', 'api')),
  -- As in `doc`: the EMR's code, or `pending` or `failed` for a booking of ours that the EMR does not have.
  status                    text NOT NULL,
  cancelled                 boolean NOT NULL,
  starts_at                 timestamptz NOT NULL,
  minutes                   integer NOT NULL,
  mode                      text,
  visit_type                text NOT NULL,
  provider_ehr_id           text NOT NULL,
  secondary_provider_ehr_id text,
  facility_ehr_id           text NOT NULL,
  -- Names the patient in audit records. Not read from `doc`: one escape that PostgreSQL does not know would make it
  -- unreadable.
  patient_mrn               text,
  patient_folded            text NOT NULL,
  patient_phone             text,
  -- Of a pending booking that is not to be made: the earlier booking that occupies its time.
  conflict                  json,
  doc                       json NOT NULL,
  -- `doc` without the notes, if it has notes.
  doc_without_notes         json,
  source_hash               bytea NOT NULL,
  seen_in                   bigint NOT NULL,
  written_in                bigint,
  created_at                timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX appointments_by_id ON appointments (client_id, organization_id, id);
CREATE INDEX appointments_listed ON appointments (client_id, organization_id, starts_at DESC, id);
CREATE INDEX appointments_patient ON appointments (client_id, organization_id, patient_mrn, starts_at DESC, id);
CREATE INDEX appointments_phone ON appointments (client_id, organization_id, patient_phone, starts_at DESC, id);
CREATE INDEX appointments_provider ON appointments (client_id, organization_id, provider_ehr_id, starts_at DESC, id);
CREATE INDEX appointments_location ON appointments (client_id, organization_id, facility_ehr_id, starts_at DESC, id);
CREATE INDEX appointments_status ON appointments (client_id, organization_id, status, starts_at DESC, id);
CREATE INDEX appointments_mode ON appointments (client_id, organization_id, mode, starts_at DESC, id);
-- Bookings of ours that the EMR does not have: few, and compared with every new one.
CREATE INDEX appointments_pending ON appointments (client_id, organization_id, starts_at) WHERE ehr_id IS NULL;
CALL limit_to_tenant('appointments');
GRANT SELECT, INSERT, UPDATE, DELETE ON appointments TO chartwire_service;
CALL keep_name_suffixes('appointments', ARRAY['patient_folded']);
CALL keep_changes('appointments');

CREATE TABLE orders (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  order_date      date NOT NULL,
  patient_mrn     text NOT NULL,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX orders_dates ON orders (client_id, organization_id, order_date DESC, id);
CREATE INDEX orders_patient ON orders (client_id, organization_id, patient_mrn, order_date DESC, id);
CALL limit_to_tenant('orders');
GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO chartwire_service;
CALL keep_changes('orders');

-- `created_at`: when the service first had it.
CREATE TABLE referrals (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  referral_date   date NOT NULL,
  patient_mrn     text NOT NULL,
  status          text,
  priority        text,
  direction       text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  written_in      bigint,
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX referrals_by_id ON referrals (client_id, organization_id, id);
CREATE INDEX referrals_dates ON referrals (client_id, organization_id, referral_date DESC, id);
CREATE INDEX referrals_patient ON referrals (client_id, organization_id, patient_mrn, referral_date DESC, id);
CREATE INDEX referrals_status ON referrals (client_id, organization_id, status, referral_date DESC, id);
CREATE INDEX referrals_priority ON referrals (client_id, organization_id, priority, referral_date DESC, id);
CREATE INDEX referrals_direction ON referrals (client_id, organization_id, direction, referral_date DESC, id);
CREATE INDEX referrals_created ON referrals (client_id, organization_id, created_at, id);
CALL limit_to_tenant('referrals');
GRANT SELECT, INSERT, UPDATE, DELETE ON referrals TO chartwire_service;

-- Our id of an insurance is the same for its creation and for all of its updates. A row whose `doc` is null has only that
-- id, given to an insurance before a sync read it.
CREATE TABLE patient_insurances (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  patient_mrn     text,
  patient_ehr_id  text,
  doc             json,
  source_hash     bytea NOT NULL DEFAULT '',
  seen_in         bigint NOT NULL DEFAULT 0,
  written_in      bigint,
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX patient_insurances_mrn ON patient_insurances (client_id, organization_id, patient_mrn);
CREATE INDEX patient_insurances_patient ON patient_insurances (client_id, organization_id, patient_ehr_id);
CALL limit_to_tenant('patient_insurances');
GRANT SELECT, INSERT, UPDATE, DELETE ON patient_insurances TO chartwire_service;

-- Eligibility checks of patients' insurances, with the insurers' responses.
CREATE TABLE eligibility_checks (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  service_date    date NOT NULL,
  patient_mrn     text,
  coverage_status text NOT NULL,
  doc             json NOT NULL,
  -- The lines of the response, which only the list of one check's benefits reads: there can be hundreds.
  benefits        json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX eligibility_checks_by_id ON eligibility_checks (client_id, organization_id, id);
CREATE INDEX eligibility_checks_dates ON eligibility_checks (client_id, organization_id, service_date DESC, id);
CREATE INDEX eligibility_checks_patient
  ON eligibility_checks (client_id, organization_id, patient_mrn, service_date DESC, id);
CREATE INDEX eligibility_checks_status
  ON eligibility_checks (client_id, organization_id, coverage_status, service_date DESC, id);
CALL limit_to_tenant('eligibility_checks');
GRANT SELECT, INSERT, UPDATE, DELETE ON eligibility_checks TO chartwire_service;
CALL keep_count('eligibility_checks');

CREATE TABLE claims (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  service_date    date NOT NULL,
  patient_mrn     text,
  claim_status    text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  written_in      bigint,
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX claims_by_id ON claims (client_id, organization_id, id);
CREATE INDEX claims_dates ON claims (client_id, organization_id, service_date DESC, id);
CREATE INDEX claims_patient ON claims (client_id, organization_id, patient_mrn, service_date DESC, id);
CREATE INDEX claims_status ON claims (client_id, organization_id, claim_status, service_date DESC, id);
CALL limit_to_tenant('claims');
GRANT SELECT, INSERT, UPDATE, DELETE ON claims TO chartwire_service;
CALL keep_count('claims');
CALL keep_changes('claims');
