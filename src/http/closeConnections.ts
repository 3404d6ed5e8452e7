import type { FastifyInstance } from 'fastify';

/** How long a request under way may still take when the service stops: as long as a job, see workers.ts. */
const grace_ms = 20_000;

/**
 * A server closes when its last connection has ended. Left alone that takes over a minute: a connection whose request
 * was under way is kept alive for the caller's next one (72 s), and one on which nothing has been sent yet is waited
 * for (60 s). So the last answer on each ends it, and what is open after the grace is cut off.
 */
export function endConnectionsOnClose(server: FastifyInstance): void {
  let closing = false;
  server.addHook('preClose', (done) => {
    closing = true;
    setTimeout(() => server.server.closeAllConnections(), grace_ms).unref();
    done();
  });
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
}
