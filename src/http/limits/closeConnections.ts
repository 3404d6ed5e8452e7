import type { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { apiError } from '../../catalog/errors.ts';

/** How long a running request may take after the service starts to stop; the same as for a job (product/workers.ts). */
const grace_ms = 20_000;

/**
 * A server closes when its last connection has ended. Without this that takes over a minute: Node keeps a connection
 * alive for the next request (72 s) and waits for the first request of an unused one (60 s). So the last response on
 * each connection closes it, and connections still open after the grace period are closed. While the service drains,
 * responses close their connections too: a request that arrives on one while the server closes it would fail.
 */
export function endConnectionsOnClose(server: FastifyInstance, isDraining: () => boolean = () => false): void {
  let closing = false;
  server.addHook('preClose', (done) => {
    closing = true;
    setTimeout(() => server.server.closeAllConnections(), grace_ms).unref();
    done();
  });
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (closing || isDraining()) reply.header('connection', 'close');
    done(null, payload);
  });
}

/** Responses that do not end by themselves, such as server-sent events. They end when the server closes. */
export type Streams = {
  /** Rejects and destroys the stream if the client has too many. */
  add(stream: Readable, client_id: string | undefined): void;
};

const streams_per_client_max = 20;

export function openStreams(server: FastifyInstance): Streams {
  const streams = new Map<Readable, string | undefined>();
  server.addHook('preClose', async () => {
    for (const stream of streams.keys()) stream.push(null);
  });
  return {
    add: (stream, client_id) => {
      const open = [...streams.values()].filter((each) => each !== undefined && each === client_id).length;
      if (open >= streams_per_client_max) {
        stream.destroy();
        throw apiError('event_streams_exceeded', undefined, { retry_after_s: 60 });
      }
      streams.set(stream, client_id);
      stream.once('close', () => streams.delete(stream));
    },
  };
}
