-- A record is part of the chain (position > 0) or new (null). Not validated: that would scan a table that only grows,
-- and a row that was moved elsewhere before must not keep the service from starting; the verification reports it.
ALTER TABLE audit_records ADD CONSTRAINT audit_records_position_check CHECK (position > 0) NOT VALID;
