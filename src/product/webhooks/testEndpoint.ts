import { newId } from '../../catalog/ids.ts';
import type { Context } from '../context.ts';
import { listEndpoints } from './endpoints.ts';
import { readLiveSecrets } from './secrets.ts';
import { type Outcome, sendWebhook } from './sendWebhook.ts';

/** Not in the event catalog: applications must ignore types they do not know. */
const test_type = 'webhook.test';

/** `body`: what was sent. */
export type TestResult = Pick<Outcome, 'status_code' | 'problem' | 'snippet' | 'duration_ms'> & {
  delivered: boolean;
  body: string;
};

/**
 * Sends a signed test event to an endpoint once and returns the outcome. It is not stored as an event, does not count
 * towards the endpoint's health, and works on disabled endpoints too. Undefined if there is no such endpoint.
 */
export async function testEndpoint(
  ctx: Pick<Context, 'db' | 'vault' | 'webhook_outbound'>,
  client_id: string,
  endpoint_id: string,
): Promise<TestResult | undefined> {
  const target = await ctx.db.tenant(client_id, async (tx) => {
    const endpoint = (await listEndpoints(tx)).find((each) => each.id === endpoint_id);
    return endpoint && { url: endpoint.url, secrets: await readLiveSecrets(ctx.vault, tx, endpoint_id) };
  });
  if (!target) return undefined;
  const id = newId();
  const data = { message: 'This is a test event. Nothing happened.' };
  const body = JSON.stringify({ id, object: 'event', created: new Date().toISOString(), type: test_type, data });
  const never = new AbortController().signal;
  const outcome = await sendWebhook(ctx, { ...target, id, body, attempt: 1 }, { signal: never });
  if (!outcome) throw new Error('A test event was aborted without a signal.');
  const { success: delivered, status_code, problem, snippet, duration_ms } = outcome;
  return { delivered, status_code, problem, snippet, duration_ms, body };
}
