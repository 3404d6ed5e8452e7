import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import type { EventType } from '../events.ts';
import { newReference } from '../ids.ts';
import { checkUrl, webhookRules } from '../security/addresses.ts';
import { countEndpoints, insertEndpoint, lockRegistration, renewEndpoint } from './endpoints.ts';
import { addSecret, readLiveSecrets } from './secrets.ts';

export type NewEndpoint = { url: string; event_types?: readonly EventType[] | undefined };

/**
 * Registers a URL that receives events (all types, unless some are named), with its own secret. A URL that is already
 * registered keeps its endpoint and secret and is enabled again: an application that registers at every start must not
 * receive every event twice.
 */
export async function addEndpoint(
  ctx: Pick<Context, 'config' | 'vault'>,
  tx: Tx,
  client_id: string,
  { url, event_types }: NewEndpoint,
): Promise<{ id: string; secret: string }> {
  const checked = checkUrl(url, webhookRules(ctx.config));
  if ('refused' in checked) {
    throw apiError('webhook_url_refused', { rule: checked.refused }, { field: 'webhook_url' });
  }
  await lockRegistration(tx, client_id);
  const known = await renewEndpoint(tx, { url, event_types: event_types ?? null });
  if (known) {
    const [newest] = await readLiveSecrets(ctx.vault, tx, known);
    return { id: known, secret: newest ?? (await addSecret(ctx.vault, tx, { client_id, endpoint_id: known })) };
  }
  const max = ctx.config.webhook_endpoints;
  if ((await countEndpoints(tx)) >= max) throw apiError('webhook_endpoints_max', { max: String(max) });
  const id = newReference('webhook_endpoint');
  await insertEndpoint(tx, { id, client_id, url, event_types: event_types ?? null });
  return { id, secret: await addSecret(ctx.vault, tx, { client_id, endpoint_id: id }) };
}
