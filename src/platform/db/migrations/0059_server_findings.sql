-- What is known about the server of an account that people should know, as whole sentences without health data. Derived
-- from the stored session whenever it is replaced, as `document_bytes_max` is.
ALTER TABLE accounts ADD COLUMN server_findings text[] NOT NULL DEFAULT '{}';
