-- The records that the same process stored before this one, each named once. The MAC covers them, so that a record that
-- was deleted before it joined the chain is missed by its id. Null in records of earlier versions.
ALTER TABLE audit_records ADD COLUMN follows uuid[];
