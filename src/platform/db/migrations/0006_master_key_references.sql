-- A master key that wraps anything cannot be forgotten, and nothing can be wrapped by one that was: a process that missed
-- a rotation fails instead of storing a secret that nobody can decrypt.

ALTER TABLE data_keys ADD CONSTRAINT data_keys_master_key FOREIGN KEY (master_key_id) REFERENCES master_keys (id);
ALTER TABLE signing_keys ADD CONSTRAINT signing_keys_master_key FOREIGN KEY (master_key_id) REFERENCES master_keys (id);
