import { createServer } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/**
 * Accepts connections on ::1 too, and passes them to the server, which so applies its limits to all. Fastify would start
 * a second HTTP server, which has none. Throws if another program uses the port there, because browsers may try this
 * address first. Returns how to stop accepting.
 */
export async function listenOnIpv6Loopback(server: FastifyInstance, port: number): Promise<() => void> {
  const second = createServer((socket) => server.server.emit('connection', socket));
  await new Promise<void>((resolve, reject) => {
    second.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT' ? resolve() : reject(error),
    );
    second.listen({ port, host: '::1' }, resolve);
  });
  return () => second.close();
}

/** The addresses that HOST stands for; the first is where everything listens. */
export function listAddresses(host: string): [string, ...string[]] {
  return host === 'localhost' ? ['127.0.0.1', '::1'] : [host];
}

/**
 * Sends people who open a page by address to its name, `localhost`: cookies and passkeys belong to a name. Programs are
 * not redirected, nor is anyone who comes through another port, which a tunnel may have opened.
 */
export function redirectToName(ctx: { readonly base_url: string }) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const { hostname, port, origin } = new URL(ctx.base_url);
    if (hostname !== 'localhost') return undefined;
    const by_address = request.host === `127.0.0.1:${port}` || request.host === `[::1]:${port}`;
    if (!by_address || !['GET', 'HEAD'].includes(request.method)) return undefined;
    // A request to a proxy has a whole URL.
    if (!request.url.startsWith('/')) return undefined;
    if (!request.headers.accept?.includes('text/html')) return undefined;
    return reply.redirect(`${origin}${request.url}`, 307);
  };
}
