import { apiError } from '../../catalog/errors.ts';
import { newReference } from '../../catalog/ids.ts';
import type { EventType } from '../../model/events.ts';
import type { Tx } from '../../platform/db/database.ts';
import { checkUrl, webhookRules } from '../../platform/security/addresses.ts';
import type { Context } from '../context.ts';
import {
  countEndpoints,
  type Endpoint,
  findEndpoint,
  insertEndpoint,
  lockEndpointAt,
  lockRegistration,
  renewEndpoint,
} from './endpoints.ts';
import { addSecret, readLiveSecrets } from './secrets.ts';

export type NewEndpoint = { url: string; event_types?: readonly EventType[] | undefined };

export type RegisteredEndpoint = {
  id: string;
  secret: string;
  /** The endpoint as it was, if the URL was registered already, and as it is now. */
  before: Endpoint | undefined;
  after: Endpoint | undefined;
};

/**
 * Registers a URL that receives events (all types, unless some are named), with its own secret. A URL that is already
 * registered keeps its endpoint, secret and, unless new ones are named, event types, and is enabled again: an application
 * that registers at every start must not receive every event twice, or events that an operator turned off for it.
 */
export async function addEndpoint(
  ctx: Pick<Context, 'config' | 'vault'>,
  tx: Tx,
  client_id: string,
  { url, event_types }: NewEndpoint,
): Promise<RegisteredEndpoint> {
  const checked = checkUrl(url, webhookRules(ctx.config));
  if ('refused' in checked) {
    throw apiError('webhook_url_refused', { rule: checked.refused }, { field: 'webhook_url' });
  }
  await lockRegistration(tx, client_id);
  const before = await lockEndpointAt(tx, url);
  if (before) {
    const { id } = before;
    await renewEndpoint(tx, { id, event_types: event_types ?? before.event_types });
    const [newest] = await readLiveSecrets(ctx.vault, tx, id);
    const secret = newest ?? (await addSecret(ctx.vault, tx, { client_id, endpoint_id: id }));
    return { id, secret, before, after: await findEndpoint(tx, id) };
  }
  const max = ctx.config.webhook_endpoints;
  if ((await countEndpoints(tx)) >= max) throw apiError('webhook_endpoints_max', { max: String(max) });
  const id = newReference('webhook_endpoint');
  await insertEndpoint(tx, { id, client_id, url, event_types: event_types ?? null });
  const secret = await addSecret(ctx.vault, tx, { client_id, endpoint_id: id });
  return { id, secret, before, after: await findEndpoint(tx, id) };
}
