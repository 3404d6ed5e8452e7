-- Where the path of an EMR's address has the tenant that {tenant} stands for, such as /r4/{tenant}; null: in its first
-- segment. Before, {tenant} was any segment, and a tenant could name a path below its own like another tenant.
ALTER TABLE emr_apps ADD COLUMN tenant_path text;
