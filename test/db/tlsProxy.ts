import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { test_certificate } from '../harness/servers/certificates.ts';

export type TlsProxy = { port: number; close(): Promise<void> };

/** A PostgreSQL server with TLS at every loopback address, in front of the server at a Unix socket. */
export async function startTlsProxy(socket_path: string, options: { offers_tls?: boolean } = {}): Promise<TlsProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    // The first message of a client that wants TLS is SSLRequest; the response is one byte.
    socket.once('data', () => {
      if (options.offers_tls === false) return socket.write('N');
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, ...test_certificate });
      const upstream = connect(socket_path);
      for (const each of [secure, upstream]) each.on('error', () => {});
      secure.pipe(upstream).pipe(secure);
    });
  }).listen(0, '0.0.0.0');
  await once(server, 'listening');
  return {
    // A listening TCP server has an address with a port.
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const each of sockets) each.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
