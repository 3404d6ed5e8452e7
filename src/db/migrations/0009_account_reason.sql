-- Why an account needs a person, in the words its client was told.
ALTER TABLE accounts ADD COLUMN status_reason text;
