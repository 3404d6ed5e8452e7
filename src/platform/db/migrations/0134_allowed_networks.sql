-- Where requests with a client's credentials may come from, and the certificates of which one must be presented, as
-- SHA-256 in hexadecimal digits. Empty: anywhere, and none.
ALTER TABLE clients
  ADD COLUMN allowed_networks         text[] NOT NULL DEFAULT '{}',
  ADD COLUMN certificate_fingerprints text[] NOT NULL DEFAULT '{}';
