import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiError } from '../../../catalog/errors.ts';
import { parseJson } from '../../../platform/security/json.ts';
import { hashToken, verifyWebhook } from '../../../platform/security/signatures.ts';
import type { Context } from '../../context.ts';
import { readLiveSecrets } from '../secrets.ts';
import { addRequest, consumeResponse, findOwner, receiver_path } from './receivers.ts';

const body_bytes_max = 1_048_576;

/**
 * Serves the built-in receiver, a webhook server for users who do not have one yet. It is not a declared endpoint,
 * because it accepts any body and responds as configured, including with errors.
 */
export function serveReceiver(ctx: Context, server: FastifyInstance): void {
  const closing = new AbortController();
  server.addHook('preClose', async () => closing.abort());
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: body_bytes_max }, (_request, body, done) =>
      done(null, body),
    );
    scope.decorateRequest('receiver_of', '');
    scope.route<{ Params: { key: string } }>({
      method: ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'],
      url: `${receiver_path}:key`,
      config: { address_limiting: 'failures' },
      // Before the body is read: a request with an unknown key costs only a lookup.
      onRequest: async (request) => {
        const { key } = request.params;
        const credential = hashToken(key).toString('base64');
        request.receiver_of = await server.address_limit.authenticate(request, credential, async () => {
          const client_id = await findOwner(ctx.db.system, key);
          // The message does not repeat the path, because the key in it is a secret.
          if (!client_id) throw apiError('route_not_found', { method: request.method, path: receiver_path });
          return client_id;
        });
      },
      handler: (request, reply) => respond(ctx, request, reply, closing.signal),
    });
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    receiver_of: string;
  }
}

async function respond(
  ctx: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  closing: AbortSignal,
): Promise<FastifyReply> {
  const { method, headers } = request;
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const response = await receive(ctx, request.receiver_of, { method, headers, body });
  // The receiver was removed after its key was looked up.
  if (!response) return reply.status(410).send({ received: false });
  // A stopping service does not wait.
  if (response.delay_ms > 0) await pause(response.delay_ms, undefined, { signal: closing }).catch(() => {});
  if (response.status === null) {
    reply.hijack();
    request.raw.socket.destroy();
    return reply;
  }
  if (response.status < 300) return reply.status(response.status).send({ received: true });
  return reply
    .status(response.status)
    .type('text/plain; charset=utf-8')
    .send(`The built-in receiver is configured to respond with ${response.status}.`);
}

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
      event_id: readHeader(headers, 'webhook-id'),
      event_type: readEventType(text),
      attempt: readHeader(headers, 'webhook-attempt'),
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

function readHeader(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return value === undefined ? null : storable(String(value)).slice(0, shown_max);
}

/** Bodies are ours or a tester's. Events of live charts have up to 1,000 records. */
const body_limits = { depth_max: 32, values_max: 200_000 };

/** Null if the body is not an event. */
function readEventType(text: string): string | null {
  try {
    const body = parseJson(Buffer.from(text), body_limits);
    const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
    return typeof type === 'string' ? storable(type).slice(0, shown_max).toWellFormed() : null;
  } catch {
    return null;
  }
}
