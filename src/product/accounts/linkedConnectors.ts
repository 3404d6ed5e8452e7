import { StartFailure } from '../../catalog/errors.ts';
import type { Sql } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';

/** The connectors of linked accounts that are not loaded. */
export async function listMissingConnectors(sql: Sql, { connectors }: Pick<Context, 'connectors'>): Promise<string[]> {
  const rows = await sql<{ connector: string }[]>`SELECT DISTINCT connector FROM organizations
    WHERE connector <> ALL (${[...connectors.keys()]})
      AND EXISTS (SELECT FROM accounts WHERE organization_id = organizations.id AND status <> 'revoked')
    ORDER BY connector`;
  return rows.map(({ connector }) => connector);
}

/** Throws if a linked account has a connector that is not loaded: its accepted writes would fail. */
export async function checkLinkedConnectors(ctx: Pick<Context, 'db' | 'connectors'>): Promise<void> {
  const missing = await listMissingConnectors(ctx.db.system, ctx);
  if (missing.length > 0) throw new StartFailure(`${describeMissing(missing)} ${missing_remedy}`);
}

export function describeMissing(missing: readonly string[]): string {
  return `Accounts are linked with a connector that is not loaded: ${missing.join(', ')}.`;
}

export const missing_remedy = 'Add its module to CONNECTORS. To stop using it, unlink the accounts first.';
