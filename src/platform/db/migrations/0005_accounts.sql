-- Organizations, the EMR accounts of their users, and what is known about the servers of these EMRs.

-- EMR apps ------------------------------------------------------------------------------------------------------------

-- Registrations at EMRs. An operator configures them, so that clinic staff need not enter a client ID.
CREATE TABLE emr_apps (
  id                     uuid PRIMARY KEY,
  client_id              uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- Shown in Link instead of the EMR's name.
  name                   text NOT NULL,
  logo                   text,
  connector              text NOT NULL,
  -- False until the EMR has issued a client ID: the app's URLs must be known before it can be registered there.
  registered             boolean NOT NULL,

  -- Where the app is used and where its credentials may go. Names of hosts; `*.` stands for one label. An app without
  -- hosts is not used.
  hosts                  text[] NOT NULL,
  -- Where the path of an EMR's address has the tenant that {tenant} stands for, such as /r4/{tenant}; null: in its first
  -- segment. If {tenant} could be any segment, a tenant could name a path below its own like another tenant.
  tenant_path            text,
  -- `same_host`, a URL, or a template with {host} and {tenant}.
  token_endpoint         text NOT NULL,
  -- The same for the EMR's own sign-in page.
  authorization_endpoint text,
  issuer                 text,

  -- The sign-in method and its fields.
  credentials_sealed     bytea NOT NULL,
  -- The certificate (PEM, with its chain) and the private key that the service presents to the EMR, and the authorities
  -- that the EMR's own certificate may come from in addition to the public ones.
  certificate            text,
  certificate_key_sealed bytea,
  certificate_expires_at timestamptz,
  ca_certificates        text,
  -- Whether the EMR has to fetch our key set, how often that happened, and when for the last time.
  uses_key_set           boolean NOT NULL DEFAULT false,
  key_fetches            bigint NOT NULL DEFAULT 0,
  keys_fetched_at        timestamptz,

  -- What is sent with requests. The scopes to request, exactly; null: those that the server lists.
  scope                  text,
  -- Constant headers, such as an API key.
  headers_sealed         bytea,
  -- Constant search parameters; a blank value must be given by each practice.
  search_params          jsonb NOT NULL DEFAULT '{}',
  -- The group of patients that a bulk export reads.
  bulk_group             text,
  -- Which identifier of a patient is the MRN: by system, by type, or both. Neither: not set.
  mrn_system             text,
  mrn_type               text,
  -- Some vendors count the requests of an application at all of its practices together (see emr_request_budgets).
  requests_counted_per   text NOT NULL DEFAULT 'address' CHECK (requests_counted_per IN ('address', 'app')),

  created_at             timestamptz NOT NULL DEFAULT now()
);
CALL limit_to_tenant('emr_apps');
-- For the alert before a certificate expires.
CREATE POLICY crossing ON emr_apps TO chartwire_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON emr_apps TO chartwire_service;
GRANT SELECT (id, client_id, name, certificate_expires_at) ON emr_apps TO chartwire_system;

-- Which client IDs belong to which apps, as keyed hashes of token endpoint and client ID. An app of another client with
-- the same pair is refused, and nobody learns anything else about it.
CREATE TABLE emr_app_pairs (
  emr_app_id uuid NOT NULL REFERENCES emr_apps ON DELETE CASCADE,
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  pair_hash  bytea NOT NULL,
  -- False: the app's own pair. True: a wider one that would include it, such as the same with `*.` for the host.
  wider      boolean NOT NULL,
  PRIMARY KEY (pair_hash, emr_app_id)
);
CREATE INDEX emr_app_pairs_app ON emr_app_pairs (emr_app_id);
CALL limit_to_tenant('emr_app_pairs');
CREATE POLICY crossing ON emr_app_pairs TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, DELETE ON emr_app_pairs TO chartwire_service;
GRANT SELECT (emr_app_id, pair_hash, wider) ON emr_app_pairs TO chartwire_system;

-- Organizations and accounts ------------------------------------------------------------------------------------------

CREATE TABLE organizations (
  id                          uuid PRIMARY KEY,
  client_id                   uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  -- The client's own ID.
  org_id                      text NOT NULL,
  connector                   text NOT NULL,
  emr_address                 text NOT NULL,
  -- The search parameters that name the practice, where several practices share the address of an EMR.
  search_params               jsonb NOT NULL DEFAULT '{}',
  timezone                    text NOT NULL,

  -- Languages, races, ethnicities and required patient fields of the EMR; null until the first sync.
  code_lists                  jsonb,
  -- The visit types of an EMR that does not list them, as an operator set them: [{"code", "description", "minutes"}].
  visit_types                 jsonb,
  -- Working hours of providers that have none of their own; null means Monday to Friday, 09:00 to 17:00.
  default_hours               json,
  -- The length of appointments whose request and visit type give none; null means 30 minutes.
  default_appointment_minutes integer CHECK (default_appointment_minutes BETWEEN 1 AND 1440),
  -- Which identifier of a patient is the MRN, as in emr_apps.
  mrn_system                  text,
  mrn_type                    text,
  -- The rule that linking derived from a sample of patients: {"system", "type"}.
  mrn_guess                   jsonb,
  -- The most writes that an account may send at the same time, where that is measured. Null: the connector's limit.
  parallel_writes_max         integer CHECK (parallel_writes_max BETWEEN 1 AND 16),

  -- The first sync is queued when the first account is linked.
  next_sync_at                timestamptz NOT NULL DEFAULT now() + interval '15 minutes',
  -- When a sync last finished; null until the first one did.
  synced_at                   timestamptz,
  created_at                  timestamptz NOT NULL DEFAULT now(),
  UNIQUE (client_id, org_id)
);
CREATE INDEX organizations_next_sync ON organizations (next_sync_at);
CALL limit_to_tenant('organizations');
CREATE POLICY crossing ON organizations TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON organizations TO chartwire_service;
GRANT SELECT (id, client_id, org_id, connector, emr_address, timezone, next_sync_at), UPDATE (next_sync_at)
  ON organizations TO chartwire_system;

CREATE TABLE accounts (
  id                  uuid PRIMARY KEY,
  client_id           uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  organization_id     uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id             text NOT NULL,
  reference_id        text NOT NULL UNIQUE,
  token_hash          bytea NOT NULL UNIQUE,
  token_sealed        bytea NOT NULL,

  status              text NOT NULL CHECK (status IN ('active', 'login_required', 'revoked')),
  -- Why an account needs a person, in the words sent to its client.
  status_reason       text,
  linked_at           timestamptz NOT NULL DEFAULT now(),
  -- When the account was last unlinked. Jobs accepted before that fail, even if the account is linked again before they
  -- run.
  unlinked_at         timestamptz,

  emr_app_id          uuid REFERENCES emr_apps ON DELETE SET NULL,
  emr_user_id         text NOT NULL,
  emr_user_name       text NOT NULL,
  credentials_sealed  bytea NOT NULL,
  grant_sealed        bytea NOT NULL,

  -- The operations that this account's server supports; null means all that its connector offers.
  capabilities        text[],
  -- The largest document that the server may accept, as far as it is known from those that it refused.
  document_bytes_max  integer,
  -- What is known about the server that people should know, as whole sentences without health data. Derived from the
  -- stored session whenever it is replaced, as `document_bytes_max` is.
  server_findings     text[] NOT NULL DEFAULT '{}',
  -- An endpoint that the EMR names since the account was linked, and that its EMR app does not allow.
  unexpected_endpoint text,

  created_at          timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, user_id)
);
CREATE INDEX accounts_emr_app ON accounts (emr_app_id) WHERE emr_app_id IS NOT NULL;
CALL limit_to_tenant('accounts');
CREATE POLICY crossing ON accounts TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON accounts TO chartwire_service;
GRANT SELECT (id, client_id, organization_id, user_id, reference_id, token_hash, status, linked_at, unlinked_at,
  capabilities, unexpected_endpoint) ON accounts TO chartwire_system;

-- Access tokens that were replaced and remain valid for a while.
CREATE TABLE replaced_tokens (
  token_hash bytea PRIMARY KEY,
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX replaced_tokens_account ON replaced_tokens (account_id);
CALL limit_to_tenant('replaced_tokens');
CREATE POLICY crossing ON replaced_tokens TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON replaced_tokens TO chartwire_service;
GRANT SELECT, DELETE ON replaced_tokens TO chartwire_system;

-- Sessions at the EMR -------------------------------------------------------------------------------------------------

-- Who renews the session of an account. A refresh token can often be redeemed only once, and some servers end the whole
-- sign-in if one is sent a second time. A row with a lease, not a lock: no transaction is open during the call to the EMR.
CREATE TABLE grant_renewals (
  account_id   uuid PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  client_id    uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  owner        text,
  fence        bigint NOT NULL,
  -- Null: nobody renews it at the moment.
  locked_until timestamptz
);
CREATE INDEX grant_renewals_client ON grant_renewals (client_id);
CALL limit_to_tenant('grant_renewals');
GRANT SELECT, INSERT, UPDATE, DELETE ON grant_renewals TO chartwire_service;

-- Sessions and tokens of unlinked accounts that are still to be revoked at the EMR; deleted when that is done.
CREATE TABLE ended_grants (
  id                 uuid PRIMARY KEY,
  client_id          uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  account_id         uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  credentials_sealed bytea NOT NULL,
  grant_sealed       bytea NOT NULL,
  next_at            timestamptz NOT NULL DEFAULT now(),
  created_at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ended_grants_account ON ended_grants (account_id);
CALL limit_to_tenant('ended_grants');
CREATE POLICY crossing ON ended_grants TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON ended_grants TO chartwire_service;
GRANT SELECT (id, client_id, account_id, next_at) ON ended_grants TO chartwire_system;

-- The EMR's server ----------------------------------------------------------------------------------------------------

-- What is known about each capability of an account: declared by the server, seen to work, or refused.
CREATE TABLE account_capabilities (
  account_id     uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  capability     text NOT NULL,
  client_id      uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  state          text NOT NULL CHECK (state IN ('declared', 'works', 'refused')),
  -- One sentence without health data.
  detail         text,
  -- Of a list: how many records are stored.
  records        integer,
  -- The server refused it when it was used, although it declared it. It is then not offered until the account is linked
  -- or checked again.
  refused_in_use boolean NOT NULL DEFAULT false CHECK (NOT refused_in_use OR state = 'refused'),
  at             timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, capability)
);
CALL limit_to_tenant('account_capabilities');
GRANT SELECT, INSERT, UPDATE, DELETE ON account_capabilities TO chartwire_service;

-- Accounts whose EMR does not respond: since when each attempt has failed. Deleted when the EMR responds again.
CREATE TABLE emr_outages (
  account_id      uuid PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  client_id       uuid NOT NULL REFERENCES clients,
  since           timestamptz NOT NULL DEFAULT now(),
  last_failure_at timestamptz NOT NULL DEFAULT now()
);
CALL limit_to_tenant('emr_outages');
CREATE POLICY crossing ON emr_outages TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON emr_outages TO chartwire_service;
GRANT SELECT ON emr_outages TO chartwire_system;

-- How many lanes of an account may use its EMR at the same time, where that is measured.
CREATE TABLE write_limits (
  account_id uuid PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  client_id  uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  parallel   integer NOT NULL,
  -- Successful creates since the last change or failure.
  creates    integer NOT NULL,
  -- Why `parallel` has its value.
  reason     text NOT NULL CHECK (reason IN ('start', 'creates', 'too_busy', 'collided', 'failed', 'setting')),
  -- Until then nothing is measured.
  held_until timestamptz,
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX write_limits_client ON write_limits (client_id);
CALL limit_to_tenant('write_limits');
CREATE POLICY crossing ON write_limits TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON write_limits TO chartwire_service;
GRANT SELECT (account_id, parallel) ON write_limits TO chartwire_system;

-- Who writes to an EMR that handles one write at a time, whoever sends it. A row with a lease, not a lock: no transaction
-- is open during the call to the EMR. It belongs to the installation, because clients may share an EMR; the address is
-- stored as a hash. Deleted when the write has ended.
CREATE TABLE write_turns (
  address_hash bytea PRIMARY KEY,
  owner        uuid NOT NULL,
  locked_until timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON write_turns TO chartwire_system;

-- How many requests per clock minute an EMR takes, measured when it rejected more without saying when to try again. All
-- processes and clients share it, because the vendor counts per address, or per app.
CREATE TABLE emr_request_budgets (
  -- An address, or `emr_app:<id>`.
  counted_by    text PRIMARY KEY,
  per_minute    integer NOT NULL,
  -- How often it rejected at this count.
  confirmations integer NOT NULL DEFAULT 1,
  -- The minute that `requests` were sent in. `blocked`: the EMR takes no more of them in it.
  minute        timestamptz NOT NULL,
  requests      integer NOT NULL,
  blocked       boolean NOT NULL DEFAULT true,
  limited_at    timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON emr_request_budgets TO chartwire_system;

-- Of each type of record, one of our markers by which a record was found on an EMR server. Another account of the client at
-- the same address searches for it to see whether its own searches find our markers. The marker starts with the id of the
-- operation that created the record.
CREATE TABLE server_markers (
  client_id       uuid NOT NULL REFERENCES clients ON DELETE CASCADE,
  emr_address     text NOT NULL,
  type            text NOT NULL,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  marker          text NOT NULL,
  found_at        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (client_id, emr_address, type)
);
CREATE INDEX server_markers_organization ON server_markers (organization_id);
CALL limit_to_tenant('server_markers');
GRANT SELECT, INSERT, UPDATE, DELETE ON server_markers TO chartwire_service;
