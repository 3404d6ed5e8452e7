-- Reference lists are filtered by status, and writes refuse inactive records. The next sync compares every row again.
ALTER TABLE staff ADD COLUMN status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive'));
ALTER TABLE pharmacies ADD COLUMN status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive'));
ALTER TABLE insurance_providers ADD COLUMN status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive'));
ALTER TABLE referring_providers ADD COLUMN status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive'));

-- The owner may be subject to forced row-level security, and no policy shows it any row.
ALTER TABLE staff NO FORCE ROW LEVEL SECURITY;
ALTER TABLE pharmacies NO FORCE ROW LEVEL SECURITY;
ALTER TABLE insurance_providers NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sync_passes NO FORCE ROW LEVEL SECURITY;
ALTER TABLE organizations NO FORCE ROW LEVEL SECURITY;

-- Compared as text: one escape that PostgreSQL does not know would make a document unreadable.
UPDATE staff SET status = 'inactive' WHERE doc::text ~ '"status"\s*:\s*"inactive"';
UPDATE pharmacies SET status = 'inactive' WHERE doc::text ~ '"status"\s*:\s*"inactive"';
UPDATE insurance_providers SET status = 'inactive' WHERE NOT active;

-- When a list was first read to its end, or refused by the EMR. Until then its records are incomplete.
ALTER TABLE sync_passes ADD COLUMN first_read_at timestamptz;
UPDATE sync_passes SET first_read_at = coalesce(synced_as_of, organizations.synced_at)
  FROM organizations WHERE organizations.id = sync_passes.organization_id;

ALTER TABLE staff FORCE ROW LEVEL SECURITY;
ALTER TABLE pharmacies FORCE ROW LEVEL SECURITY;
ALTER TABLE insurance_providers FORCE ROW LEVEL SECURITY;
ALTER TABLE sync_passes FORCE ROW LEVEL SECURITY;
ALTER TABLE organizations FORCE ROW LEVEL SECURITY;

ALTER TABLE staff ALTER COLUMN status DROP DEFAULT;
ALTER TABLE pharmacies ALTER COLUMN status DROP DEFAULT;
ALTER TABLE insurance_providers ALTER COLUMN status DROP DEFAULT;
ALTER TABLE referring_providers ALTER COLUMN status DROP DEFAULT;

CREATE INDEX staff_status ON staff (client_id, organization_id, status, id);
CREATE INDEX pharmacies_status ON pharmacies (client_id, organization_id, status, id);
CREATE INDEX insurance_providers_status ON insurance_providers (client_id, organization_id, status, name_folded, id);
CREATE INDEX referring_providers_status
  ON referring_providers (client_id, organization_id, status, last_folded, first_folded, id);
