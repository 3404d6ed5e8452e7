-- The spine: who calls (clients, organizations, accounts), what we hold (records), what is asked (operations, jobs),
-- who is told (events, deliveries). Ids are UUID v7 made by the service.
--
-- Two roles, neither owner nor bypassing row-level security:
--   chartwire_service  sees the rows of the tenant that its transaction names, and none without one;
--   chartwire_system   crosses tenants, on the few columns by which callers are known and waiting work is claimed.

-- Who calls ----------------------------------------------------------------------------------------------------------

CREATE TABLE clients (
  id            uuid PRIMARY KEY,
  public_id     text NOT NULL UNIQUE,
  name          text NOT NULL,
  mode          text NOT NULL CHECK (mode IN ('live', 'test')),
  callback_urls text[] NOT NULL DEFAULT '{}',
  frame_origins text[] NOT NULL DEFAULT '{}',
  created_at    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE client_secrets (
  id          uuid PRIMARY KEY,
  client_id   uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  secret_hash bytea NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  revoked_at  timestamptz
);
CREATE INDEX client_secrets_client ON client_secrets (client_id);

CREATE TABLE operators (
  id            uuid PRIMARY KEY,
  email         text NOT NULL UNIQUE,
  password_hash text NOT NULL,
  role          text NOT NULL CHECK (role IN ('owner', 'operator', 'read_only')),
  created_at    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE organizations (
  id           uuid PRIMARY KEY,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  org_id       text NOT NULL,
  connector    text NOT NULL,
  emr_address  text NOT NULL,
  timezone     text NOT NULL,
  -- The first sync is queued when the first account is linked.
  next_sync_at timestamptz NOT NULL DEFAULT now() + interval '15 minutes',
  created_at   timestamptz NOT NULL DEFAULT now(),
  UNIQUE (client_id, org_id)
);
CREATE INDEX organizations_next_sync ON organizations (next_sync_at);

CREATE TABLE accounts (
  id                 uuid PRIMARY KEY,
  client_id          uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id    uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id            text NOT NULL,
  reference_id       text NOT NULL UNIQUE,
  token_hash         bytea NOT NULL UNIQUE,
  token_sealed       bytea NOT NULL,
  status             text NOT NULL CHECK (status IN ('active', 'login_required', 'revoked')),
  credentials_sealed bytea NOT NULL,
  grant_sealed       bytea NOT NULL,
  emr_user_id        text NOT NULL,
  emr_user_name      text NOT NULL,
  linked_at          timestamptz NOT NULL DEFAULT now(),
  created_at         timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, user_id)
);

CREATE TABLE link_tokens (
  token_hash   bytea PRIMARY KEY,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  user_id      text NOT NULL,
  org_id       text NOT NULL,
  connector    text NOT NULL,
  emr_address  text NOT NULL,
  account_id   uuid REFERENCES accounts ON DELETE CASCADE,
  callback_url text,
  language     text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL,
  used_at      timestamptz
);
CREATE INDEX link_tokens_expires ON link_tokens (expires_at);

CREATE TABLE public_tokens (
  token_hash bytea PRIMARY KEY,
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  used_at    timestamptz
);
CREATE INDEX public_tokens_expires ON public_tokens (expires_at);

-- Keys: data keys are wrapped by a master key that never stands in the database ---------------------------------------

CREATE TABLE master_keys (
  id          text PRIMARY KEY,
  check_value bytea NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE data_keys (
  id            uuid PRIMARY KEY,
  client_id     uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  owner_id      uuid NOT NULL UNIQUE,
  master_key_id text NOT NULL,
  wrapped       bytea NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX data_keys_master ON data_keys (master_key_id);

-- What we hold of an EMR's data: the wire document beside the columns that filters use -------------------------------
-- `source_hash` tells a changed record from an unchanged one; `seen_in` is the sync that saw it last.

CREATE TABLE providers (
  id                   uuid PRIMARY KEY,
  client_id            uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id      uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id               text NOT NULL,
  source               json NOT NULL,
  -- Settings that belong to the service: null means that the EMR's value holds. A sync never writes them.
  status_set           text CHECK (status_set IN ('active', 'inactive')),
  hide_in_availability boolean NOT NULL DEFAULT false,
  hours_set            json,
  doc                  json NOT NULL,
  source_hash          bytea NOT NULL,
  seen_in              bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);

CREATE TABLE locations (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);

CREATE TABLE staff (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);

CREATE TABLE pharmacies (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text NOT NULL,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  UNIQUE (organization_id, ehr_id)
);

CREATE TABLE patients (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  ehr_id          text,
  mrn             text,
  status          text NOT NULL CHECK (status IN ('pending', 'failed', 'active', 'pending_update')),
  first_folded    text NOT NULL,
  last_folded     text NOT NULL,
  dob             text,
  phone           text,
  cell_phone      text,
  doc             json NOT NULL,
  source_hash     bytea NOT NULL,
  seen_in         bigint NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, ehr_id)
);
-- Under row-level security only leakproof comparisons reach an index, so partial names are matched while walking this
-- narrow index (folded names are in it) and the wide documents are fetched for the page alone.
CREATE INDEX patients_names ON patients (client_id, organization_id, last_folded, first_folded, id);
CREATE INDEX patients_mrn ON patients (client_id, organization_id, mrn);
CREATE INDEX patients_dob ON patients (client_id, organization_id, dob);
CREATE INDEX patients_phone ON patients (client_id, organization_id, phone);
CREATE INDEX patients_cell_phone ON patients (client_id, organization_id, cell_phone);

-- Totals of unfiltered lists, kept by the statements that change them: counting a million rows takes a second.
CREATE TABLE record_counts (
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  kind            text NOT NULL,
  total           bigint NOT NULL,
  PRIMARY KEY (organization_id, kind)
);

CREATE FUNCTION count_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO record_counts (client_id, organization_id, kind, total)
    SELECT client_id, organization_id, TG_TABLE_NAME, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed GROUP BY client_id, organization_id
    ON CONFLICT (organization_id, kind) DO UPDATE SET total = record_counts.total + excluded.total;
  RETURN NULL;
END $$;
CREATE TRIGGER patients_added AFTER INSERT ON patients
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_records();

CREATE FUNCTION uncount_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- An organization that is being deleted takes its counts with it.
  UPDATE record_counts AS kept SET total = kept.total - gone.n
    FROM (SELECT organization_id, count(*) AS n FROM changed GROUP BY organization_id) AS gone
    WHERE kept.organization_id = gone.organization_id AND kept.kind = TG_TABLE_NAME;
  RETURN NULL;
END $$;
CREATE TRIGGER patients_removed AFTER DELETE ON patients
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION uncount_records();

-- What is asked and what is under way ---------------------------------------------------------------------------------
-- Each foreign key costs a look-up and a lock on the parent's row at every insert, and every write of a tenant shares
-- those parents. Here one chain holds: event and job → operation → account → organization → client.

CREATE TABLE operations (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL,
  organization_id uuid NOT NULL,
  account_id      uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  type            text NOT NULL,
  input           json NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE jobs (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id       uuid NOT NULL,
  organization_id uuid NOT NULL,
  account_id      uuid NOT NULL,
  operation_id    uuid NOT NULL REFERENCES operations ON DELETE CASCADE,
  type            text NOT NULL,
  lane            text NOT NULL,
  state           text NOT NULL DEFAULT 'queued'
                  CHECK (state IN ('queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review')),
  parked          boolean NOT NULL DEFAULT false,
  parked_since    timestamptz,
  attempts        integer NOT NULL DEFAULT 0,
  -- Tries that failed in a row since `retry_since`; both start anew when the account is linked again.
  retries         integer NOT NULL DEFAULT 0,
  retry_since     timestamptz,
  created_at      timestamptz NOT NULL DEFAULT now(),
  started_at      timestamptz,
  finished_at     timestamptz,
  error           json,
  event_id        uuid
);
CREATE INDEX jobs_lane ON jobs (organization_id, lane, id) WHERE state IN ('queued', 'running') AND NOT parked;
CREATE INDEX jobs_waiting ON jobs (account_id, id) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_parked ON jobs (parked_since) WHERE parked;
CREATE INDEX jobs_operation ON jobs (operation_id);

CREATE TABLE job_steps (
  job_id    bigint NOT NULL REFERENCES jobs ON DELETE CASCADE,
  n         bigint GENERATED ALWAYS AS IDENTITY,
  client_id uuid NOT NULL,
  attempt   integer NOT NULL,
  name      text NOT NULL,
  kind      text NOT NULL CHECK (kind IN ('note', 'intent', 'outcome')),
  detail    json,
  at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (job_id, n)
);

-- One row per non-empty lane. A claim over this table took 0.2 ms where a NOT EXISTS over a million jobs took 415 ms.
-- `account_id` is that of the lane's head job: accounts take turns by it.
CREATE TABLE lanes (
  id              uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  client_id       uuid NOT NULL,
  organization_id uuid NOT NULL,
  account_id      uuid NOT NULL,
  key             text NOT NULL,
  parallel_max    integer NOT NULL,
  ready_at        timestamptz DEFAULT now(),
  locked_until    timestamptz,
  owner           text,
  fence           bigint NOT NULL DEFAULT 0,
  UNIQUE (organization_id, key)
);
CREATE INDEX lanes_ready ON lanes (account_id, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX lanes_locked ON lanes (locked_until) WHERE locked_until IS NOT NULL;

CREATE TABLE idempotency_keys (
  scope_id      uuid NOT NULL,
  key_hash      bytea NOT NULL,
  client_id     uuid NOT NULL,
  request_hash  bytea NOT NULL,
  operation_id  uuid,
  answer_sealed bytea,
  created_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope_id, key_hash)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);

-- Who is told ---------------------------------------------------------------------------------------------------------

CREATE TABLE events (
  id              uuid PRIMARY KEY,
  client_id       uuid NOT NULL,
  account_id      uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  job_id          bigint REFERENCES jobs ON DELETE CASCADE,
  type            text NOT NULL,
  -- The body as it is sent: the same bytes at every try, so that a signature can be checked again later.
  body            text NOT NULL,
  delivery_status text CHECK (delivery_status IN ('pending', 'success', 'failed')),
  created_at      timestamptz NOT NULL DEFAULT now()
);
-- A job ends with exactly one event; a second one cannot be committed.
CREATE UNIQUE INDEX events_terminal ON events (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX events_account ON events (client_id, account_id, created_at DESC, id DESC);
CREATE INDEX events_type ON events (client_id, account_id, type, created_at DESC, id DESC);
CREATE INDEX events_status ON events (client_id, account_id, delivery_status, created_at DESC, id DESC);
CREATE INDEX events_created ON events (created_at);

CREATE TABLE webhook_endpoints (
  id              text PRIMARY KEY,
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  url             text NOT NULL,
  status          text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  disabled_reason text,
  -- null: every type.
  event_types     text[],
  failing_since   timestamptz,
  created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_endpoints_client ON webhook_endpoints (client_id, created_at);

CREATE TABLE webhook_secrets (
  id            uuid PRIMARY KEY,
  client_id     uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  endpoint_id   text NOT NULL REFERENCES webhook_endpoints ON DELETE CASCADE,
  secret_sealed bytea NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now(),
  -- null: the newest one, which stays.
  expires_at    timestamptz
);
CREATE INDEX webhook_secrets_endpoint ON webhook_secrets (endpoint_id, created_at DESC);

CREATE TABLE deliveries (
  id           uuid PRIMARY KEY,
  client_id    uuid NOT NULL,
  event_id     uuid NOT NULL REFERENCES events ON DELETE CASCADE,
  endpoint_id  text NOT NULL REFERENCES webhook_endpoints ON DELETE CASCADE,
  status       text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'success', 'failed')),
  attempts     integer NOT NULL DEFAULT 0,
  -- How many tries had been made when the ladder last began anew (a resend); their numbers go on.
  ladder_from  integer NOT NULL DEFAULT 0,
  -- null: nothing more to be done.
  ready_at     timestamptz DEFAULT now(),
  locked_until timestamptz,
  owner        text,
  fence        bigint NOT NULL DEFAULT 0,
  created_at   timestamptz NOT NULL DEFAULT now(),
  finished_at  timestamptz,
  UNIQUE (event_id, endpoint_id)
);
-- Without it the removal of an endpoint reads every delivery there is.
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id);
CREATE INDEX deliveries_ready ON deliveries (endpoint_id, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX deliveries_locked ON deliveries (locked_until) WHERE locked_until IS NOT NULL;

CREATE TABLE delivery_attempts (
  delivery_id uuid NOT NULL REFERENCES deliveries ON DELETE CASCADE,
  attempt     integer NOT NULL,
  client_id   uuid NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  duration_ms integer NOT NULL,
  -- null: no answer came; `problem` says why.
  status_code integer,
  problem     text,
  PRIMARY KEY (delivery_id, attempt)
);

-- The walls -----------------------------------------------------------------------------------------------------------
-- nullif: after a local setting ends it is the empty string, and a cast of that would throw instead of giving no rows.
-- The sub-select is read once per query, and the planner does not mistake it for a constant: planned before the tenant
-- is set, the bare call looks like NULL, one row is expected, and the wrong index is taken (54 ms instead of 0.2).

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['client_secrets', 'organizations', 'accounts', 'link_tokens', 'public_tokens', 'data_keys',
    'providers', 'locations', 'staff', 'pharmacies', 'patients', 'record_counts', 'operations', 'jobs', 'job_steps',
    'lanes', 'idempotency_keys', 'events', 'webhook_endpoints', 'webhook_secrets', 'deliveries', 'delivery_attempts']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY tenant ON %I TO chartwire_service
      USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
      WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))$policy$, name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO chartwire_service', name);
  END LOOP;
END $$;

ALTER TABLE clients ENABLE ROW LEVEL SECURITY;
ALTER TABLE clients FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON clients TO chartwire_service
  USING (id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE ON clients TO chartwire_service;

-- What crosses tenants, column by column. No health data, no credential and no sealed value is among it.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['clients', 'client_secrets', 'organizations', 'accounts', 'link_tokens', 'public_tokens',
    'data_keys', 'jobs', 'lanes', 'idempotency_keys', 'events', 'deliveries']
  LOOP
    EXECUTE format('CREATE POLICY crossing ON %I TO chartwire_system USING (true) WITH CHECK (true)', name);
  END LOOP;
END $$;
GRANT SELECT ON clients, client_secrets TO chartwire_system;
GRANT SELECT (id, client_id, org_id, connector, emr_address, timezone, next_sync_at), UPDATE (next_sync_at)
  ON organizations TO chartwire_system;
GRANT SELECT (id, client_id, organization_id, user_id, reference_id, token_hash, status, linked_at)
  ON accounts TO chartwire_system;
GRANT SELECT (token_hash, client_id, expires_at, used_at), DELETE ON link_tokens TO chartwire_system;
GRANT SELECT (expires_at), DELETE ON public_tokens TO chartwire_system;
GRANT SELECT, UPDATE (master_key_id, wrapped) ON data_keys TO chartwire_system;
GRANT SELECT (id, client_id, organization_id, type, state, parked, parked_since, created_at) ON jobs TO chartwire_system;
GRANT SELECT, UPDATE (locked_until, owner, fence) ON lanes TO chartwire_system;
GRANT SELECT, UPDATE (locked_until, owner, fence) ON deliveries TO chartwire_system;
GRANT SELECT (created_at), DELETE ON idempotency_keys TO chartwire_system;
GRANT SELECT (id, created_at), DELETE ON events TO chartwire_system;
GRANT SELECT, INSERT, UPDATE, DELETE ON operators, master_keys TO chartwire_system;

-- Times on the wire: ISO 8601 in UTC with milliseconds.
CREATE FUNCTION iso(moment timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;
