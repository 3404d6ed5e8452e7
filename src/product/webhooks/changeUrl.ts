import { apiError } from '../../catalog/errors.ts';
import type { Tx } from '../../platform/db/database.ts';
import { checkUrl, webhookRules } from '../../platform/security/addresses.ts';
import type { Context } from '../context.ts';
import { listEndpoints, lockRegistration, moveEndpoint } from './endpoints.ts';

/**
 * Changes the URL of an endpoint, which keeps its secret, event types and deliveries: pending ones go to the new URL.
 * Returns false if there is no such endpoint.
 */
export async function changeUrl(
  ctx: Pick<Context, 'config'>,
  tx: Tx,
  client_id: string,
  { id, url }: { id: string; url: string },
): Promise<boolean> {
  const checked = checkUrl(url, webhookRules(ctx.config));
  if ('refused' in checked) throw refused(checked.refused);
  await lockRegistration(tx, client_id);
  const endpoints = await listEndpoints(tx);
  if (!endpoints.some((each) => each.id === id)) return false;
  if (endpoints.some((each) => each.id !== id && each.url === url)) throw refused('is already registered.');
  const [built_in] = await tx`SELECT FROM receivers WHERE endpoint_id = ${id}`;
  if (built_in) throw refused('of the built-in receiver cannot be changed.');
  await moveEndpoint(tx, id, url);
  return true;
}

function refused(rule: string): Error {
  return apiError('webhook_url_refused', { rule }, { field: 'webhook_url' });
}
