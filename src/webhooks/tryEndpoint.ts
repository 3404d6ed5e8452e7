import type { Context } from '../context.ts';
import { newId } from '../ids.ts';
import type { WebhookTried } from '../model/dashboard/webhooks.ts';
import { listEndpoints } from './endpoints.ts';
import { readLiveSecrets } from './secrets.ts';
import { sendWebhook } from './sendWebhook.ts';

/** Not a type of the catalogue: applications promise to pass over types they do not know. */
const test_type = 'webhook.test';

/**
 * Sends an endpoint a signed test event, at once and once, and says what came of it. It is no event: nothing happened,
 * so it is in no list, no health is judged by it, and a disabled endpoint can be tried before it is enabled.
 * Undefined when there is no such endpoint.
 */
export async function tryEndpoint(
  ctx: Pick<Context, 'db' | 'vault' | 'outbound'>,
  client_id: string,
  endpoint_id: string,
): Promise<WebhookTried | undefined> {
  const target = await ctx.db.tenant(client_id, async (tx) => {
    const endpoint = (await listEndpoints(tx)).find((each) => each.id === endpoint_id);
    return endpoint && { url: endpoint.url, secrets: await readLiveSecrets(ctx.vault, tx, endpoint_id) };
  });
  if (!target) return undefined;
  const id = newId();
  const data = { message: 'A test of this webhook address. Nothing has happened.' };
  const body = JSON.stringify({ id, object: 'event', created: new Date().toISOString(), type: test_type, data });
  const never = new AbortController().signal;
  const outcome = await sendWebhook(ctx, { ...target, id, body, attempt: 1 }, { signal: never });
  if (!outcome) throw new Error('A test event was stopped although nobody stops it.');
  const { success: delivered, status_code, problem, snippet, duration_ms } = outcome;
  return { delivered, status_code, problem, snippet, duration_ms, body };
}
