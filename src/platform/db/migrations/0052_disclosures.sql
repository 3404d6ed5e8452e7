-- The host that has, or may have, received the event by this attempt; null if it cannot have. The audit log contains one
-- record of the failed attempts with the same host.
ALTER TABLE delivery_attempts ADD COLUMN sent_to text;
