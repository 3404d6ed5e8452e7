import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | 'hang up' | 'wait';
type Request = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

/** A server that sends the given replies, one per request, and the last one from then on. */
export async function startFlakyServer(replies: Reply[]): Promise<{ baseUrl: string; requests: Request[] }> {
  const requests: Request[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      requests.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      const reply = replies[Math.min(requests.length, replies.length) - 1];
      if (reply === undefined || reply === 'wait') return;
      if (reply === 'hang up') {
        request.socket.destroy();
        return;
      }
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(JSON.stringify(reply.body ?? { success: false, message: 'Not now.', code: 'some_code' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
