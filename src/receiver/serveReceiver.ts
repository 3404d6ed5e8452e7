import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { receiver_path } from './openReceiver.ts';
import { receive } from './receive.ts';
import { findOwner } from './receivers.ts';

const body_bytes_max = 1_048_576;

/**
 * The built-in receiver: what a customer's server would be, for people who have none yet. Not an endpoint of the
 * machine: it takes bodies of any kind as they come, and answers as it was told to, also wrongly.
 */
export function serveReceiver(ctx: Context, server: FastifyInstance): void {
  const closing = new AbortController();
  server.addHook('preClose', async () => closing.abort());
  server.register(async (inside) => {
    inside.removeAllContentTypeParsers();
    inside.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: body_bytes_max }, (_request, body, done) =>
      done(null, body),
    );
    inside.decorateRequest('receiver_of', '');
    inside.route<{ Params: { key: string } }>({
      method: ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'],
      url: `${receiver_path}:key`,
      // Before the body is read, as everywhere: a stranger's request costs a look-up.
      onRequest: async (request) => {
        const client_id = await findOwner(ctx.db.system, request.params.key);
        // Not with the path, as the route is not there for who does not know a key: the key is not repeated anywhere.
        if (!client_id) throw apiError('route_not_found', { method: request.method, path: receiver_path });
        request.receiver_of = client_id;
      },
      handler: (request, reply) => answer(ctx, request, reply, closing.signal),
    });
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    receiver_of: string;
  }
}

async function answer(
  ctx: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  closing: AbortSignal,
): Promise<FastifyReply> {
  const { method, headers } = request;
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const told = await receive(ctx, request.receiver_of, { method, headers, body });
  // Removed since its key was looked up.
  if (!told) return reply.status(410).send({ received: false });
  // A service that stops does not wait: what is sent then is a try like any other.
  if (told.delay_ms > 0) await pause(told.delay_ms, undefined, { signal: closing }).catch(() => {});
  if (told.status === null) {
    reply.hijack();
    request.raw.socket.destroy();
    return reply;
  }
  if (told.status < 300) return reply.status(told.status).send({ received: true });
  return reply
    .status(told.status)
    .type('text/plain; charset=utf-8')
    .send(`The built-in receiver was told to answer ${told.status}.`);
}
