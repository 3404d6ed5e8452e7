import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';
import { freePort } from '../harness/sandbox.ts';

/** A way to PostgreSQL that can be cut and corrected, as a network is. */
export type DatabaseProxy = {
  port: number;
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Breaks the connections there are, and lets new ones through. Callers see an error before the end. */
  reset(): void;
};

export async function startDatabaseProxy(): Promise<DatabaseProxy> {
  const { host, port: database_port } = inject('postgres');
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  const port = await freePort();
  const open = async () => {
    server = createServer((near) => {
      const far = connect(join(host, `.s.PGSQL.${database_port}`));
      for (const [one, two] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.pipe(two);
        one.on('error', () => two.destroy());
        one.on('close', () => {
          sockets.delete(one);
          two.destroy();
        });
      }
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await open();
  return {
    port,
    cut: async () => {
      const closed = server && once(server, 'close');
      server?.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    mend: open,
    reset: () => {
      for (const socket of sockets) if (socket.remotePort !== undefined) socket.resetAndDestroy();
    },
  };
}
