import { apiError } from '../../../catalog/errors.ts';
import { newToken } from '../../../catalog/ids.ts';
import type { Tx } from '../../../platform/db/database.ts';
import { checkUrl, webhookRules } from '../../../platform/security/addresses.ts';
import type { Context } from '../../context.ts';
import { addEndpoint } from '../addEndpoint.ts';
import { describeChange } from '../describeChange.ts';
import { findEndpoint, moveEndpoint } from '../endpoints.ts';
import { findReceiver, insertReceiver, lockReceiver, type Receiver } from './receivers.ts';

/** The URL path of a receiver, followed by its key. */
export const receiver_path = '/receiver/';

/**
 * Creates the client's receiver and registers it as a webhook endpoint for all event types. An existing receiver is
 * enabled again, at the current address of the service. Also returns the audit detail of the change.
 */
export async function openReceiver(
  ctx: Pick<Context, 'config' | 'vault'>,
  tx: Tx,
  client_id: string,
): Promise<{ receiver: Receiver; detail: Record<string, unknown> }> {
  await lockReceiver(tx, client_id);
  const existing = await findReceiver(tx);
  const before = existing && (await findEndpoint(tx, existing.endpoint_id));
  const key = existing ? keyOf(existing.url) : newToken('receiver');
  const url = `${ctx.config.base_url}${receiver_path}${key}`;
  if (existing && existing.url !== url) await moveEndpoint(tx, existing.endpoint_id, url);
  const { id: endpoint_id, after } = await addEndpoint(ctx, tx, client_id, { url });
  if (!existing) await insertReceiver(tx, { client_id, endpoint_id, key });
  const receiver = await findReceiver(tx);
  if (!receiver) throw apiError('record_not_found', { noun: 'Webhook', id: endpoint_id });
  return { receiver, detail: describeChange(before, after) };
}

/** Why deliveries cannot reach a receiver at the address of this service, or null if they can. */
export function receiverRefusal({ config }: Pick<Context, 'config'>): string | null {
  const checked = checkUrl(`${config.base_url}${receiver_path}key`, webhookRules(config));
  return 'refused' in checked ? `The address of this service (BASE_URL) ${checked.refused}` : null;
}

function keyOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}
