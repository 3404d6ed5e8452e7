-- A location's status can be set in the service; from then on a sync leaves it alone.
ALTER TABLE locations ADD COLUMN status_set text CHECK (status_set IN ('active', 'inactive'));
