-- What an attempt was signed with: the webhook-timestamp and webhook-signature headers, never the secret. Null for
-- attempts of earlier versions.
ALTER TABLE delivery_attempts ADD COLUMN signed_at_s bigint;
ALTER TABLE delivery_attempts ADD COLUMN signature text;
