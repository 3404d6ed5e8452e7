import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { apiError } from '../../../catalog/errors.ts';
import { hashToken } from '../../../platform/security/signatures.ts';
import type { Context } from '../../context.ts';
import { receiver_path } from './openReceiver.ts';
import { receive } from './receive.ts';
import { findOwner } from './receivers.ts';

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
