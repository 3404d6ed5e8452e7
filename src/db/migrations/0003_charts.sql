-- What the whole interface reads: insurance companies and referring providers, the practice's codes, the schedule,
-- claims and orders. Kept like the records of 0001: the wire document beside the columns that filters use.

CREATE TABLE insurance_providers (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  name_folded     text NOT NULL,
  active          boolean NOT NULL,
  payer_id        text,
  -- The EMR's own id of the carrier: without one a patient's insurance cannot be moved to this company.
  carrier_id      text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX insurance_providers_names ON insurance_providers (client_id, organization_id, name_folded, id, active);

CREATE TABLE referring_providers (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  first_folded    text NOT NULL,
  last_folded     text NOT NULL,
  phone           text,
  fax             text,
  npi             text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX referring_providers_names
  ON referring_providers (client_id, organization_id, last_folded, first_folded, id);
CREATE INDEX referring_providers_phone ON referring_providers (client_id, organization_id, phone);
CREATE INDEX referring_providers_fax ON referring_providers (client_id, organization_id, fax);
CREATE INDEX referring_providers_npi ON referring_providers (client_id, organization_id, npi);

-- Codes have no id of their own in an EMR: `ehr_id` is the code.
CREATE TABLE visit_types (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  minutes         integer,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);

CREATE TABLE visit_statuses (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);

-- Languages, races, ethnicities and required patient fields of the EMR instance; null until the first sync.
ALTER TABLE organizations ADD COLUMN code_lists jsonb;
-- When a sync last came to its end; null until the first one did.
ALTER TABLE organizations ADD COLUMN synced_at timestamptz;

-- An appointment that was asked for has no EMR id until the EMR has it. The columns are what availability counts with.
CREATE TABLE appointments (
  id                        uuid PRIMARY KEY,
  client_id                 uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id           uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id                    text,
  starts_at                 timestamptz NOT NULL,
  minutes                   integer NOT NULL,
  provider_ehr_id           text NOT NULL,
  secondary_provider_ehr_id text,
  facility_ehr_id           text NOT NULL,
  visit_type                text NOT NULL,
  cancelled                 boolean NOT NULL,
  doc                       json NOT NULL,
  source_hash               bytea NOT NULL,
  seen_in                   bigint NOT NULL,
  created_at                timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX appointments_starts ON appointments (client_id, organization_id, starts_at);

-- Time that a provider keeps free; without a facility it holds at all of them.
CREATE TABLE schedule_blocks (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  starts_at       timestamptz NOT NULL,
  minutes         integer NOT NULL,
  provider_ehr_id text NOT NULL,
  facility_ehr_id text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX schedule_blocks_starts ON schedule_blocks (client_id, organization_id, starts_at);

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
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, ehr_id)
);
-- Each filter with the order of the list behind it, so that a page reads what it shows and a total what it counts.
CREATE INDEX claims_dates ON claims (client_id, organization_id, service_date DESC, id);
CREATE INDEX claims_patient ON claims (client_id, organization_id, patient_mrn, service_date DESC, id);
CREATE INDEX claims_status ON claims (client_id, organization_id, claim_status, service_date DESC, id);

CREATE TABLE orders (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  patient_mrn     text NOT NULL,
  order_date      date NOT NULL,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX orders_patient ON orders (client_id, organization_id, patient_mrn, order_date DESC, id);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['insurance_providers', 'referring_providers', 'claims']
  LOOP
    EXECUTE format('CREATE TRIGGER %I AFTER INSERT ON %I REFERENCING NEW TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION count_records()', name || '_added', name);
    EXECUTE format('CREATE TRIGGER %I AFTER DELETE ON %I REFERENCING OLD TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION uncount_records()', name || '_removed', name);
  END LOOP;

  FOREACH name IN ARRAY ARRAY['insurance_providers', 'referring_providers', 'visit_types', 'visit_statuses',
    'appointments', 'schedule_blocks', 'claims', 'orders']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO chartwire_service
      USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
      WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))$policy$, name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO chartwire_service', name);
  END LOOP;
END $$;
