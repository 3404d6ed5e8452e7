import { findOrganization } from '../../accounts/organizations.ts';
import type { Client } from '../../clients/clients.ts';
import type { Context } from '../../context.ts';
import { apiError } from '../../errors.ts';

/** The organization that a path names, which must be one of the client that it names. */
export async function openOrganization(
  ctx: Context,
  client: Client,
  { organization_id }: { organization_id: string },
): Promise<{ client_id: string; organization_id: string; timezone: string }> {
  const found = await findOrganization(ctx, client.id, organization_id);
  if (!found) throw apiError('record_not_found', { noun: 'Organization', id: organization_id });
  return { client_id: client.id, organization_id: found.id, timezone: found.timezone };
}
