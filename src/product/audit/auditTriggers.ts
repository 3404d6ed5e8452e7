import type { Query } from '../../platform/db/database.ts';

/**
 * Triggers and rules on the tables of the audit log, by name. The service creates none: each of them could drop or change
 * records before they are stored, which their MACs do not show.
 */
export async function listAuditTriggers(sql: Query): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    SELECT format('trigger %s on %s', tgname, relname) AS name FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
     WHERE relname = ANY (${audit_tables}) AND relnamespace = 'public'::regnamespace AND NOT tgisinternal
    UNION ALL
    SELECT format('rule %s on %s', rulename, tablename) FROM pg_rules
     WHERE tablename = ANY (${audit_tables}) AND schemaname = 'public'
     ORDER BY name`;
  return rows.map(({ name }) => name);
}

const audit_tables = ['audit_records', 'audit_head'];
