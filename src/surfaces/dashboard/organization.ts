import { Type } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { findOrganization } from '../../product/accounts/organizations.ts';
import type { Client } from '../../product/clients/clients.ts';
import type { Context } from '../../product/context.ts';
import type { Scope } from '../../product/records/readRecords.ts';

export const organization_path = '/dashboard/api/clients/{client_id}/organizations/{organization_id}';
export const organization_params = Type.Object({ client_id: Type.String(), organization_id: Type.String() });

/** A record of an organization. The parameter must be called `id`: the audit log takes the subject from it. */
export const record_params = Type.Object({ ...organization_params.properties, id: Type.String() });

/** The organization of a path. It must belong to the client of the path. */
export async function requireOrganization(
  ctx: Context,
  client: Client,
  { organization_id }: { organization_id: string },
): Promise<Scope> {
  const organization = await findOrganization(ctx, client.id, organization_id);
  if (!organization) throw apiError('record_not_found', { noun: 'Organization', id: organization_id });
  return { client_id: client.id, organization_id: organization.id };
}
