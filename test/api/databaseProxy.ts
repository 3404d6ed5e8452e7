import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { inject } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';

/** A TCP proxy to PostgreSQL that simulates network failures. */
export type DatabaseProxy = {
  port: number;
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** Resets open connections and accepts new ones. Clients get an error rather than an orderly end. */
  reset(): void;
};

export async function startDatabaseProxy(): Promise<DatabaseProxy> {
  const { host, port: database_port } = inject('postgres');
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  const port = await freePort();
  const open = async () => {
    server = createServer((client) => {
      const upstream = connect(join(host, `.s.PGSQL.${database_port}`));
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from);
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          sockets.delete(from);
          to.destroy();
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
    restore: open,
    reset: () => {
      for (const socket of sockets) if (socket.remotePort !== undefined) socket.resetAndDestroy();
    },
  };
}
