import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Issued } from './issuer.ts';
import { type Receiver, type Responder, respondWith } from './receiver.ts';

/** A request, with the fingerprint of the certificate that its connection was opened with. */
export type Presented = { fingerprint: string | undefined; connection: number; url: string };

export type TlsReceiver = Pick<Receiver, 'url' | 'respond' | 'close'> & {
  presented: Presented[];
  /** Handshakes that failed, by the code of the error. */
  refused: string[];
  /** How many connections were opened. */
  connections(): number;
  port: number;
};

export type TlsOptions = {
  certificate: Issued;
  /** Refuses connections without a certificate of this authority. Undefined: asks for one, and accepts any. */
  client_authority?: string | undefined;
  versions?: 'TLSv1.2' | 'TLSv1.3';
};

/** An HTTPS server that asks for client certificates. */
export async function startTlsReceiver(
  { certificate, client_authority, versions }: TlsOptions,
  respond: Responder = respondWith(200),
): Promise<TlsReceiver> {
  let connections = 0;
  const numbers = new WeakMap<object, number>();
  const server: Server = createServer(
    {
      cert: certificate.certificate,
      key: certificate.private_key,
      requestCert: true,
      rejectUnauthorized: client_authority !== undefined,
      ...(client_authority !== undefined && { ca: client_authority }),
      ...(versions && { minVersion: versions, maxVersion: versions }),
    },
    (request, response) => {
      const socket = request.socket as TLSSocket;
      const { fingerprint256 } = socket.getPeerCertificate();
      const fingerprint = fingerprint256?.replaceAll(':', '').toLowerCase();
      const url = request.url ?? '';
      receiver.presented.push({ fingerprint, connection: numbers.get(socket) ?? 0, url });
      request.resume().on('end', () => {
        receiver.respond(response, { method: request.method ?? '', headers: request.headers, body: '', url });
      });
    },
  );
  server.on('secureConnection', (socket) => {
    connections += 1;
    numbers.set(socket, connections);
  });
  const receiver: TlsReceiver = {
    url: '',
    port: 0,
    presented: [],
    refused: [],
    respond,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  server.on('tlsClientError', (error: NodeJS.ErrnoException) => receiver.refused.push(error.code ?? error.message));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, { url: `https://localhost:${port}/hook`, port });
}
