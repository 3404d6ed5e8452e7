import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export type ReadinessProxy = {
  url: string;
  /** Whether requests are sent to this backend. */
  uses(backend: string): boolean;
  close(): Promise<void>;
};

const poll_ms = 100;

/**
 * A load balancer in its simplest form: it sends requests in turn to the backends whose /readyz returns 200, over
 * connections that it keeps alive, and repeats none: a request that a backend does not answer fails with 502.
 */
export async function startReadinessProxy(backends: readonly string[]): Promise<ReadinessProxy> {
  const ready = new Set<string>();
  const agent = new Agent({ keepAlive: true });
  const check = async (backend: string) => {
    const status = await fetch(`${backend}/readyz`).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) ready.add(backend);
    else ready.delete(backend);
  };
  // One check of a backend at a time: an earlier response that arrives late must not replace a later one.
  const ending = new AbortController();
  const watch = async (backend: string) => {
    while (!ending.signal.aborted) {
      await check(backend);
      await pause(poll_ms, undefined, { signal: ending.signal }).catch(() => {});
    }
  };
  const watching = backends.map(watch);
  let turn = 0;
  const server = createServer((incoming, reply) => {
    const usable = [...ready];
    const backend = usable[turn++ % usable.length];
    if (backend === undefined) return void reply.writeHead(502).end('{}');
    const { method = 'GET', headers, url } = incoming;
    const forwarded = request(`${backend}${url}`, { method, headers, agent }, (response) => {
      reply.writeHead(response.statusCode ?? 502, { 'content-type': response.headers['content-type'] });
      response.pipe(reply);
    });
    forwarded.on('error', () => reply.writeHead(502).end('{}'));
    incoming.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    uses: (backend) => ready.has(backend),
    close: async () => {
      ending.abort();
      await Promise.all(watching);
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
