import type { Context } from '../context.ts';
import { parseId } from '../ids.ts';
import type { OrganizationChoice } from '../model/dashboard/records.ts';
import { connectorOf } from './openAccount.ts';

/** The organizations of a client, first linked first, for an operator to choose from. */
export async function listOrganizations(ctx: Context, client_id: string): Promise<OrganizationChoice[]> {
  const rows = await ctx.db.read<Omit<OrganizationChoice, 'emr_name'> & { connector: string }>(
    client_id,
    (sql) => sql`SELECT id, org_id, timezone, connector FROM organizations ORDER BY created_at, id`,
  );
  return rows.map(({ connector, ...row }) => ({ ...row, emr_name: connectorOf(ctx, connector).display_name }));
}

/** An organization of a client by its id, in whatever spelling; undefined when the client has none of it. */
export async function findOrganization(
  ctx: Context,
  client_id: string,
  id: string,
): Promise<{ id: string; timezone: string } | undefined> {
  const asked = parseId(id);
  if (!asked) return undefined;
  const [row] = await ctx.db.read<{ id: string; timezone: string }>(
    client_id,
    (sql) => sql`SELECT id, timezone FROM organizations WHERE id = ${asked}`,
  );
  return row;
}
