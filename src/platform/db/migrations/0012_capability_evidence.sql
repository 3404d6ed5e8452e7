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

ALTER TABLE account_capabilities ENABLE ROW LEVEL SECURITY;
ALTER TABLE account_capabilities FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account_capabilities TO chartwire_service
  USING (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid))
  WITH CHECK (client_id = (SELECT nullif(current_setting('chartwire.client_id', true), '')::uuid));
GRANT SELECT, INSERT, UPDATE, DELETE ON account_capabilities TO chartwire_service;
