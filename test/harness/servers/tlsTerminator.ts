import { type ClientRequest, request as forward } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Issued } from './issuer.ts';

export type Terminator = {
  url: string;
  close(): Promise<void>;
};

/**
 * A reverse proxy that ends TLS as nginx does in docs/guides/reverse-proxy.md: it asks for a client certificate, accepts
 * any, and forwards it percent-encoded in a header, in place of what the caller sent.
 */
export async function startTerminator(target: string, certificate: Issued, header: string): Promise<Terminator> {
  const server = createServer(
    { cert: certificate.certificate, key: certificate.private_key, requestCert: true, rejectUnauthorized: false },
    (incoming, response) => {
      const { [header]: _, ...headers } = incoming.headers;
      const outgoing: ClientRequest = forward(new URL(incoming.url ?? '/', target), {
        method: incoming.method,
        headers: {
          ...headers,
          'x-forwarded-for': incoming.socket.remoteAddress,
          ...readPresented(incoming.socket as TLSSocket, header),
        },
      });
      outgoing.on('response', (received) => {
        response.writeHead(received.statusCode ?? 502, received.headers);
        received.pipe(response);
      });
      outgoing.on('error', () => response.destroy());
      incoming.pipe(outgoing);
    },
  );
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://localhost:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function readPresented(socket: TLSSocket, header: string): Record<string, string> {
  const { raw } = socket.getPeerCertificate();
  if (raw === undefined) return {};
  const lines = raw.toString('base64').match(/.{1,64}/g) ?? [];
  const pem = `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  return { [header]: encodeURIComponent(pem) };
}

/** A GET over TLS, with a certificate or without one. */
export function getOverTls(
  url: string,
  options: { ca: string; client?: Issued | undefined; headers: Record<string, string> },
): Promise<{ status: number; body: { code?: string; message?: string } }> {
  const { ca, client, headers } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { ca, cert: client?.certificate, key: client?.private_key, headers, agent: false });
    sent.on('response', async (response) => {
      const body = Buffer.concat(await response.toArray()).toString();
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(body) });
    });
    sent.on('error', reject);
    sent.end();
  });
}
