import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import { newToken } from '../ids.ts';
import { checkUrl } from '../security/addresses.ts';
import { addEndpoint } from '../webhooks/addEndpoint.ts';
import { moveEndpoint } from '../webhooks/endpoints.ts';
import { findReceiver, insertReceiver, lockReceiver, type Receiver } from './receivers.ts';

type Means = Pick<Context, 'config' | 'vault'>;

/** What stands before the key in the address of a receiver. */
export const receiver_path = '/receiver/';

/**
 * Makes the client's receiver and registers it as an endpoint like any other, for every type of event. One that is
 * there already is enabled again, at the address that the service has now.
 */
export async function openReceiver(ctx: Means, tx: Tx, client_id: string): Promise<Receiver> {
  await lockReceiver(tx, client_id);
  const known = await findReceiver(tx);
  const key = known ? keyOf(known.url) : newToken('receiver');
  const url = `${ctx.config.base_url}${receiver_path}${key}`;
  if (known && known.url !== url) await moveEndpoint(tx, known.endpoint_id, url);
  const { id: endpoint_id } = await addEndpoint(ctx, tx, client_id, { url });
  if (!known) await insertReceiver(tx, { client_id, endpoint_id, key });
  const receiver = await findReceiver(tx);
  if (!receiver) throw apiError('record_not_found', { noun: 'Webhook', id: endpoint_id });
  return receiver;
}

/** Why deliveries cannot reach a receiver at the address of this service, if they cannot. */
export function receiverRefusal({ config }: Pick<Context, 'config'>): string | null {
  const checked = checkUrl(`${config.base_url}${receiver_path}key`, {
    sandbox: config.sandbox,
    allow: config.outbound_allow,
  });
  return 'refused' in checked ? `The address of this service (BASE_URL) ${checked.refused}` : null;
}

function keyOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}
