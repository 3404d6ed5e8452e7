-- The certificate (PEM, with its chain) and the private key that the service presents to a webhook receiver or an EMR,
-- and the authorities that an EMR's own certificate may come from in addition to the public ones.
ALTER TABLE webhook_endpoints
  ADD COLUMN certificate            text,
  ADD COLUMN certificate_key_sealed bytea,
  ADD COLUMN certificate_expires_at timestamptz;
ALTER TABLE emr_apps
  ADD COLUMN certificate            text,
  ADD COLUMN certificate_key_sealed bytea,
  ADD COLUMN certificate_expires_at timestamptz,
  ADD COLUMN ca_certificates        text;

-- For the alert before one expires.
GRANT SELECT (certificate_expires_at) ON webhook_endpoints TO chartwire_system;
CREATE POLICY crossing ON emr_apps TO chartwire_system USING (true);
GRANT SELECT (id, client_id, name, certificate_expires_at) ON emr_apps TO chartwire_system;
