import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { apiError } from '../../catalog/errors.ts';
import type { Context } from '../../product/context.ts';

/** How long a connection above the limit may take to send something. */
const silent_ms = 1_000;
const log_interval_ms = 10_000;

/**
 * Leaves file descriptors for the database, EMRs and files: without one, a process cannot open a connection to its
 * database, and nobody gets a response. Connections above three fifths of the limit get a 503 and are closed, those
 * above four fifths are closed at once. Probes are served up to that point: restarting the process would help nobody.
 */
export function limitConnections(
  { log }: Pick<Context, 'log'>,
  server: FastifyInstance,
  descriptors_max = readOpenFilesMax(),
): void {
  if (descriptors_max === undefined) return;
  const served_max = Math.floor(descriptors_max * 0.6);
  server.server.maxConnections = Math.floor(descriptors_max * 0.8);
  let open = 0;
  let logged_at = Number.NEGATIVE_INFINITY;
  const report = () => {
    if (performance.now() - logged_at < log_interval_ms) return;
    logged_at = performance.now();
    log.error({ code: 'connections_exceeded' }, 'too many open connections; raise the limit of open files');
  };
  server.server.on('drop', report);
  server.server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open <= served_max) return;
    report();
    server.server.closeIdleConnections();
    setTimeout(() => socket.bytesRead === 0 && socket.destroy(), silent_ms).unref();
  });
  server.addHook('onRequest', (request, reply, done) => {
    if (open <= served_max || request.routeOptions.config.address_limiting === 'exempt') return done();
    reply.header('connection', 'close');
    done(apiError('connections_exceeded', undefined, { retry_after_s: 1 }));
  });
}

/** The limit of this process, where the system tells it. Node has raised it to the most that it may use. */
function readOpenFilesMax(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

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

export function trackStreams(server: FastifyInstance): Streams {
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
