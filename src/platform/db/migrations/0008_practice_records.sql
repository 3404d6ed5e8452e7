-- Records of a practice: its providers, locations, staff and lists.
--
-- In these tables and those of 0009, `doc` is the JSON sent to clients, and the other columns are those that filters use.
-- `source_hash` tells a changed record from an unchanged one; `seen_in` is the last sync that saw it. The index of a filter
-- continues with the order of the list, so that a page reads only the rows it shows. Lists by cursor are read in the order
-- of ids, which does not change when a record does.
--
-- `written_in`: who stored a record last. Null: a sync. Otherwise a write of ours: the run of the sync that was reading the
-- list at that time, whose pages may be older than the write, or 0 if none was. A run, not a time: the clocks of database
-- servers differ after a failover.

CREATE TABLE providers (
  id                   uuid PRIMARY KEY,
  client_id            uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id               text NOT NULL,
  source               json NOT NULL,
  -- Settings made in the service: null means that the EMR's value applies. A sync never changes them.
  status_set           text CHECK (status_set IN ('active', 'inactive')),
  hide_in_availability boolean NOT NULL DEFAULT false,
  hours_set            json,
  doc                  json NOT NULL,
  source_hash          bytea NOT NULL,
  seen_in              bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CALL limit_to_tenant('providers');
GRANT SELECT, INSERT, UPDATE, DELETE ON providers TO chartwire_service;

CREATE TABLE locations (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  -- As for providers.
  status_set      text CHECK (status_set IN ('active', 'inactive')),
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CALL limit_to_tenant('locations');
GRANT SELECT, INSERT, UPDATE, DELETE ON locations TO chartwire_service;

CREATE TABLE staff (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  status          text NOT NULL CHECK (status IN ('active', 'inactive')),
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX staff_status ON staff (client_id, organization_id, status, id);
CALL limit_to_tenant('staff');
GRANT SELECT, INSERT, UPDATE, DELETE ON staff TO chartwire_service;

CREATE TABLE pharmacies (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  status          text NOT NULL CHECK (status IN ('active', 'inactive')),
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX pharmacies_status ON pharmacies (client_id, organization_id, status, id);
CALL limit_to_tenant('pharmacies');
GRANT SELECT, INSERT, UPDATE, DELETE ON pharmacies TO chartwire_service;

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
CALL limit_to_tenant('visit_types');
GRANT SELECT, INSERT, UPDATE, DELETE ON visit_types TO chartwire_service;

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
CALL limit_to_tenant('visit_statuses');
GRANT SELECT, INSERT, UPDATE, DELETE ON visit_statuses TO chartwire_service;

CREATE TABLE insurance_providers (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  status          text NOT NULL CHECK (status IN ('active', 'inactive')),
  active          boolean NOT NULL,
  name_folded     text NOT NULL,
  payer_id        text,
  -- The EMR's id of the carrier: without it a patient's insurance cannot be moved to this company.
  carrier_id      text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX insurance_providers_by_id ON insurance_providers (client_id, organization_id, id);
CREATE INDEX insurance_providers_names ON insurance_providers (client_id, organization_id, name_folded, id, active);
CREATE INDEX insurance_providers_status ON insurance_providers (client_id, organization_id, status, name_folded, id);
CREATE INDEX insurance_providers_active ON insurance_providers (client_id, organization_id, active, name_folded, id);
CALL limit_to_tenant('insurance_providers');
GRANT SELECT, INSERT, UPDATE, DELETE ON insurance_providers TO chartwire_service;
CALL keep_count('insurance_providers');
CALL keep_name_suffixes('insurance_providers', ARRAY['name_folded']);

CREATE TABLE referring_providers (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  status          text NOT NULL CHECK (status IN ('active', 'inactive')),
  first_folded    text NOT NULL,
  last_folded     text NOT NULL,
  -- Digits without the country code.
  phone           text,
  fax             text,
  npi             text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  written_in      bigint,
  UNIQUE (organization_id, ehr_id)
);
CREATE INDEX referring_providers_by_id ON referring_providers (client_id, organization_id, id);
CREATE INDEX referring_providers_names
  ON referring_providers (client_id, organization_id, last_folded, first_folded, id);
CREATE INDEX referring_providers_status
  ON referring_providers (client_id, organization_id, status, last_folded, first_folded, id);
CREATE INDEX referring_providers_phone ON referring_providers (client_id, organization_id, phone);
CREATE INDEX referring_providers_fax ON referring_providers (client_id, organization_id, fax);
CREATE INDEX referring_providers_npi ON referring_providers (client_id, organization_id, npi);
CALL limit_to_tenant('referring_providers');
GRANT SELECT, INSERT, UPDATE, DELETE ON referring_providers TO chartwire_service;
CALL keep_count('referring_providers');
CALL keep_name_suffixes('referring_providers', ARRAY['first_folded', 'last_folded']);

-- Time that a provider keeps free; without a facility it applies to all of them.
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
CALL limit_to_tenant('schedule_blocks');
GRANT SELECT, INSERT, UPDATE, DELETE ON schedule_blocks TO chartwire_service;
