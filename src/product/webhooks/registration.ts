import { apiError } from '../../catalog/errors.ts';
import { newReference } from '../../catalog/ids.ts';
import type { Tx } from '../../platform/db/database.ts';
import { checkUrl, webhookRules } from '../../platform/security/addresses.ts';
import type { Context } from '../context.ts';
import { failOverdue, findPendingEvents } from './deliveries.ts';
import {
  countEndpoints,
  type Endpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  lockEndpoint,
  lockEndpointAt,
  lockRegistration,
  moveEndpoint,
  renewEndpoint,
  type Subscription,
  setPaused,
  setSubscription,
} from './endpoints.ts';
import { lockEvents, updateDeliveryStatus } from './events.ts';
import { addSecret, readLiveSecrets } from './secrets.ts';

/** What a request says about an endpoint: undefined leaves a field as it is, null removes a limit. */
export type EndpointFields = { [Name in keyof Subscription]?: Subscription[Name] | null | undefined };

export type RegisteredEndpoint = {
  id: string;
  secret: string;
  /** The endpoint as it was, if the URL was registered already, and as it is now. */
  before: Endpoint | undefined;
  after: Endpoint | undefined;
};

/**
 * Registers a URL that receives events (all but sync events, unless the request says otherwise), with its own secret. A
 * URL that is already registered keeps its endpoint, its secret, whether it is paused and, unless the request names them,
 * what it receives, and is enabled again: an application that registers at every start must not receive every event
 * twice, or events that an operator turned off for it.
 */
export async function addEndpoint(
  ctx: Pick<Context, 'config' | 'vault'>,
  tx: Tx,
  client_id: string,
  { url, ...fields }: { url: string } & EndpointFields,
): Promise<RegisteredEndpoint> {
  const checked = checkUrl(url, webhookRules(ctx.config));
  if ('refused' in checked) throw refused(checked.refused);
  await lockRegistration(tx, client_id);
  const before = await lockEndpointAt(tx, url);
  if (before) {
    const { id } = before;
    await renewEndpoint(tx, id, withFields(before, fields));
    const [newest] = await readLiveSecrets(ctx.vault, tx, id);
    const secret = newest ?? (await addSecret(ctx.vault, tx, { client_id, endpoint_id: id }));
    return { id, secret, before, after: await findEndpoint(tx, id) };
  }
  const max = ctx.config.webhook_endpoints;
  if ((await countEndpoints(tx)) >= max) throw apiError('webhook_endpoints_max', { max: String(max) });
  const id = newReference('webhook_endpoint');
  await insertEndpoint(tx, { id, client_id, url, ...withFields(undefined, fields) });
  const secret = await addSecret(ctx.vault, tx, { client_id, endpoint_id: id });
  return { id, secret, before, after: await findEndpoint(tx, id) };
}

/** Locks and returns an endpoint that is about to be changed. Registrations come first, as in `addEndpoint`. */
export async function lockForChange(tx: Tx, client_id: string, id: string): Promise<Endpoint | undefined> {
  await lockRegistration(tx, client_id);
  return (await lockEndpoint(tx, id)) ? findEndpoint(tx, id) : undefined;
}

/**
 * Changes an endpoint that is locked. It keeps its secret and deliveries: pending ones go to the new URL, and are sent
 * even if the endpoint no longer receives their type.
 */
export async function changeEndpoint(
  ctx: Pick<Context, 'config'>,
  tx: Tx,
  endpoint: Endpoint,
  { url, paused, ...fields }: EndpointFields & { url?: string | undefined; paused?: boolean | undefined },
): Promise<void> {
  const { id } = endpoint;
  if (url !== undefined && url !== endpoint.url) await changeUrl(ctx, tx, endpoint, url);
  await setSubscription(tx, id, withFields(endpoint, fields));
  if (paused === undefined || paused === endpoint.paused) return;
  await setPaused(tx, id, paused);
  if (!paused) await failLate(tx, id);
}

function withFields(before: Subscription | undefined, fields: EndpointFields): Subscription {
  const { event_types = before?.event_types, org_ids = before?.org_ids, sync_events = before?.sync_events } = fields;
  return { event_types: event_types ?? null, org_ids: org_ids ?? null, sync_events: sync_events ?? false };
}

async function changeUrl(ctx: Pick<Context, 'config'>, tx: Tx, endpoint: Endpoint, url: string): Promise<void> {
  const checked = checkUrl(url, webhookRules(ctx.config));
  if ('refused' in checked) throw refused(checked.refused);
  if ((await listEndpoints(tx)).some((each) => each.url === url)) throw refused('is already registered.');
  const [built_in] = await tx`SELECT FROM receivers WHERE endpoint_id = ${endpoint.id}`;
  if (built_in) throw refused('of the built-in receiver cannot be changed.');
  await moveEndpoint(tx, endpoint, url);
}

/**
 * What has waited for a resumed endpoint is sent, in order, by workers that look for due deliveries. Except what has
 * waited longer than retries take.
 */
async function failLate(tx: Tx, id: string): Promise<void> {
  const event_ids = await findPendingEvents(tx, id);
  await lockEvents(tx, event_ids);
  await failOverdue(tx, id);
  await updateDeliveryStatus(tx, event_ids);
}

function refused(rule: string): Error {
  return apiError('webhook_url_refused', { rule }, { field: 'webhook_url' });
}
