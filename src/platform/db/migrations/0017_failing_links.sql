-- Since when the attempts to link with a link token have failed, for the alert about them. `created_at` is that of the
-- latest report.
ALTER TABLE connection_reports ADD COLUMN failing_since timestamptz NOT NULL DEFAULT now();
CREATE POLICY crossing ON connection_reports TO chartwire_system USING (true) WITH CHECK (true);
GRANT SELECT (client_id, link_token_hash, failing_since) ON connection_reports TO chartwire_system;
