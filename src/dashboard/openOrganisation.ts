import { findOrganisation } from '../accounts/organisations.ts';
import type { Client } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';

/** The organisation that a path names, which must be one of the client that it names. */
export async function openOrganisation(
  ctx: Context,
  client: Client,
  { organisation_id }: { organisation_id: string },
): Promise<{ client_id: string; organisation_id: string; timezone: string }> {
  const found = await findOrganisation(ctx, client.id, organisation_id);
  if (!found) throw refusal('record_not_found', { noun: 'Organisation', id: organisation_id });
  return { client_id: client.id, organisation_id: found.id, timezone: found.timezone };
}
