import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Received = { method: string; headers: IncomingHttpHeaders; body: string; url: string };
export type Responder = (response: ServerResponse, received: Received) => void;

export type Receiver = {
  url: string;
  received: Received[];
  /** Sends the response to the next deliveries. */
  respond: Responder;
  close(): Promise<void>;
};

/** A customer's HTTP server that records the requests it receives. */
export async function startReceiver(respond: Responder = respondWith(200)): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const received = { method: request.method ?? '', headers: request.headers, body, url: request.url ?? '' };
      receiver.received.push(received);
      receiver.respond(response, received);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    respond,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

export function respondWith(status: number, headers: Record<string, string> = {}, body = ''): Responder {
  return (response) => {
    response.writeHead(status, headers).end(body);
  };
}
