import { readFileSync } from 'node:fs';
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
  descriptors_max = openFilesMax(),
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
function openFilesMax(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
