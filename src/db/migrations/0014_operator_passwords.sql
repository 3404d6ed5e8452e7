-- A password that somebody else has seen (made at the first start, or by another operator) is to be replaced.
ALTER TABLE operators ADD COLUMN password_temporary boolean NOT NULL DEFAULT false;
