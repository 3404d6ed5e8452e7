-- An EMR app says where it is used and where its credentials may go. Before, an app without an address sent its secret to
-- every server that was linked, and the token endpoint was whatever the server named.
ALTER TABLE emr_apps
  -- Names of hosts; `*.` stands for one label. An app without hosts is not used.
  ADD COLUMN hosts                  text[] NOT NULL DEFAULT '{}',
  -- `same_host`, a URL, or a template with {host} and {tenant}.
  ADD COLUMN token_endpoint         text NOT NULL DEFAULT 'same_host',
  -- The same for the EMR's own sign-in page.
  ADD COLUMN authorization_endpoint text,
  ADD COLUMN issuer                 text,
  -- False until the EMR has issued a client ID: the app's URLs must be known before it can be registered there.
  ADD COLUMN registered             boolean NOT NULL DEFAULT true;

UPDATE emr_apps SET hosts = ARRAY[substring(emr_address FROM '^https?://([^/?#]+)')], authorization_endpoint = 'same_host'
 WHERE emr_address IS NOT NULL;

ALTER TABLE emr_apps ALTER COLUMN hosts DROP DEFAULT, ALTER COLUMN token_endpoint DROP DEFAULT,
  ALTER COLUMN registered DROP DEFAULT, DROP COLUMN emr_address;

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

ALTER TABLE emr_app_pairs ENABLE ROW LEVEL SECURITY;
ALTER TABLE emr_app_pairs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON emr_app_pairs TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, DELETE ON emr_app_pairs TO chartwire_service;
CREATE POLICY crossing ON emr_app_pairs TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (emr_app_id, pair_hash, wider) ON emr_app_pairs TO chartwire_system;

-- An endpoint that the EMR of an account names since it was linked, and that the account's EMR app does not allow.
ALTER TABLE accounts ADD COLUMN unexpected_endpoint text;
GRANT SELECT (unexpected_endpoint) ON accounts TO chartwire_system;
