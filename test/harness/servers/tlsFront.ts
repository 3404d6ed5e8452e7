import { request as forward } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Presented, TlsOptions } from './tlsReceiver.ts';

export type TlsFront = {
  /** The address of the server behind it, over TLS. */
  url: string;
  presented: Presented[];
  /** If set, every request is redirected there. */
  redirect: string | undefined;
  close(): Promise<void>;
};

/**
 * TLS in front of an EMR, as hospitals have it: asks for client certificates, and replaces the server's own address in
 * what it sends by that of the front.
 */
export async function startTlsFront(address: string, { certificate, client_authority }: TlsOptions): Promise<TlsFront> {
  const target = new URL(address);
  const numbers = new WeakMap<object, number>();
  let connections = 0;
  const server = createServer(
    {
      cert: certificate.certificate,
      key: certificate.private_key,
      requestCert: true,
      rejectUnauthorized: client_authority !== undefined,
      ...(client_authority !== undefined && { ca: client_authority }),
    },
    (incoming, response) => {
      const { fingerprint256 } = (incoming.socket as TLSSocket).getPeerCertificate();
      const fingerprint = fingerprint256?.replaceAll(':', '').toLowerCase();
      const url = incoming.url ?? '/';
      front.presented.push({ fingerprint, url, connection: numbers.get(incoming.socket) ?? 0 });
      if (front.redirect !== undefined) {
        incoming.resume();
        response.writeHead(302, { location: front.redirect }).end();
        return;
      }
      const { host: _, ...headers } = incoming.headers;
      const outgoing = forward(new URL(url, target), { method: incoming.method, headers });
      outgoing.on('response', async (received) => {
        const body = Buffer.concat(await received.toArray())
          .toString()
          .replaceAll(target.origin, origin());
        const { 'content-length': length, 'transfer-encoding': encoding, ...rest } = received.headers;
        response.writeHead(received.statusCode ?? 502, rest).end(body);
      });
      outgoing.on('error', () => response.destroy());
      incoming.pipe(outgoing);
    },
  );
  const origin = () => `https://localhost:${(server.address() as AddressInfo).port}`;
  server.on('secureConnection', (socket) => {
    connections += 1;
    numbers.set(socket, connections);
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const front: TlsFront = {
    url: origin() + target.pathname,
    presented: [],
    redirect: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return front;
}
