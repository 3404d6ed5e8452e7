import type { IncomingHttpHeaders } from 'node:http';
import { parseJson } from '../../../platform/security/json.ts';
import { verifyWebhook } from '../../../platform/security/signatures.ts';
import type { Context } from '../../context.ts';
import { readLiveSecrets } from '../secrets.ts';
import { addRequest } from './receivedRequests.ts';
import { consumeResponse } from './receivers.ts';

export type ReceivedMessage = { method: string; headers: IncomingHttpHeaders; body: Buffer };

/** Stores a request to a client's receiver with the result of its signature check, and returns how to respond. */
export async function receive(
  ctx: Pick<Context, 'db' | 'vault' | 'notifications'>,
  client_id: string,
  { method, headers, body }: ReceivedMessage,
): Promise<{ status: number | null; delay_ms: number } | undefined> {
  const response = await ctx.db.tenant(client_id, async (tx) => {
    const receiver = await consumeResponse(tx);
    if (!receiver) return undefined;
    const { endpoint_id, ...settings } = receiver;
    const secrets = await readLiveSecrets(ctx.vault, tx, endpoint_id);
    const text = storable(body.toString('utf8'));
    await addRequest(tx, {
      ...{ client_id, method, body: text, body_bytes: body.length, ...settings },
      headers: storableHeaders(headers),
      verdict: verifyWebhook(headers, body, { secrets, now_s: Date.now() / 1000 }),
      event_id: headerOf(headers, 'webhook-id'),
      event_type: typeOf(text),
      attempt: headerOf(headers, 'webhook-attempt'),
    });
    return settings;
  });
  if (response) ctx.notifications.notify('chartwire_live', `events ${client_id}`);
  return response;
}

/** PostgreSQL cannot store NUL. The signature is checked on the original bytes. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}

function storableHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, storable(String(value))]));
}

const shown_max = 200;

function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : storable(String(value)).slice(0, shown_max);
}

/** Bodies are ours or a tester's. Events of live charts have up to 1,000 records. */
const body_limits = { depth_max: 32, values_max: 200_000 };

/** Null if the body is not an event. */
function typeOf(text: string): string | null {
  try {
    const body = parseJson(Buffer.from(text), body_limits);
    const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
    return typeof type === 'string' ? storable(type).slice(0, shown_max).toWellFormed() : null;
  } catch {
    return null;
  }
}
