-- Referrals of the EMR, as the other record kinds. `created_at`: when the service first had it.
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
CREATE INDEX referrals_dates ON referrals (client_id, organization_id, referral_date DESC, id);
CREATE INDEX referrals_patient ON referrals (client_id, organization_id, patient_mrn, referral_date DESC, id);
CREATE INDEX referrals_status ON referrals (client_id, organization_id, status, referral_date DESC, id);
CREATE INDEX referrals_priority ON referrals (client_id, organization_id, priority, referral_date DESC, id);
CREATE INDEX referrals_direction ON referrals (client_id, organization_id, direction, referral_date DESC, id);
CREATE INDEX referrals_created ON referrals (client_id, organization_id, created_at, id);
CREATE INDEX referrals_by_id ON referrals (client_id, organization_id, id);

ALTER TABLE referrals ENABLE ROW LEVEL SECURITY;
ALTER TABLE referrals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON referrals TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON referrals TO chartwire_service;

-- As for claims (0083): a provider that a write of ours stored is not replaced by an older page of a sync.
ALTER TABLE referring_providers ADD COLUMN written_in bigint;

-- A referral has several files. Those of other writes have the position 0.
ALTER TABLE uploads ADD COLUMN position smallint NOT NULL DEFAULT 0;
ALTER TABLE uploads DROP CONSTRAINT uploads_pkey;
ALTER TABLE uploads ADD PRIMARY KEY (operation_id, position);
