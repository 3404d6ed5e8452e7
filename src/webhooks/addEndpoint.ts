import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { refusal } from '../errors.ts';
import type { EventType } from '../events.ts';
import { newReference } from '../ids.ts';
import { checkUrl } from '../security/addresses.ts';
import { insertEndpoint } from './endpoints.ts';
import { addSecret } from './secrets.ts';

export type NewEndpoint = { url: string; event_types?: readonly EventType[] | undefined };

/** Registers an address that is to be told of events (of all types, unless some are named), with a secret of its own. */
export async function addEndpoint(
  ctx: Pick<Context, 'config' | 'vault'>,
  tx: Tx,
  client_id: string,
  { url, event_types }: NewEndpoint,
): Promise<{ id: string; secret: string }> {
  const checked = checkUrl(url, { sandbox: ctx.config.sandbox, allow: ctx.config.outbound_allow });
  if ('refused' in checked) {
    throw refusal('webhook_url_refused', { rule: checked.refused }, { field: 'webhook_url' });
  }
  const id = newReference('webhook_endpoint');
  await insertEndpoint(tx, { id, client_id, url, event_types: event_types ?? null });
  return { id, secret: await addSecret(ctx.vault, tx, { client_id, endpoint_id: id }) };
}
