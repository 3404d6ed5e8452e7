import type { Context } from '../context.ts';
import { parseId } from '../ids.ts';
import type { OrganizationChoice } from '../model/dashboard/records.ts';
import { connectorOf } from './openAccount.ts';

/** A client's organizations in the order they were linked, for the dashboard's selection. */
export async function listOrganizations(ctx: Context, client_id: string): Promise<OrganizationChoice[]> {
  const rows = await ctx.db.read<Omit<OrganizationChoice, 'emr_name'> & { connector: string }>(
    client_id,
    (sql) => sql`SELECT id, org_id, timezone, connector FROM organizations ORDER BY created_at, id`,
  );
  return rows.map(({ connector, ...row }) => ({ ...row, emr_name: connectorOf(ctx, connector).display_name }));
}

/** A client's organization by its id, with or without hyphens; undefined if the client has none with this id. */
export async function findOrganization(
  ctx: Context,
  client_id: string,
  id: string,
): Promise<{ id: string; timezone: string } | undefined> {
  const parsed = parseId(id);
  if (!parsed) return undefined;
  const [row] = await ctx.db.read<{ id: string; timezone: string }>(
    client_id,
    (sql) => sql`SELECT id, timezone FROM organizations WHERE id = ${parsed}`,
  );
  return row;
}
