import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, setPriority } from 'node:os';

/**
 * A process that passes requests to Larkspur, until it is told to respond differently: not at all, with 16 MB of nested
 * JSON, without an end, or one byte at a time.
 */
export type EmrMode = 'pass' | 'hang' | 'nested' | 'endless' | 'slow';

const nested = nestedJson(16_000_000);
const chunk = Buffer.alloc(65_536, '[');

function nestedJson(bytes: number): Buffer {
  // Deep, and wide as well: a parser without limits creates an object for every few bytes.
  const row = `${'[{"a":'.repeat(50)}1${'}]'.repeat(50)}`;
  const rows = Math.floor(bytes / (row.length + 1));
  return Buffer.from(`[${Array<string>(rows).fill(row).join(',')}]`);
}

function startServer(larkspur_url: string): void {
  let mode: EmrMode = 'pass';
  const respond: Record<EmrMode, (incoming: IncomingMessage, outgoing: ServerResponse) => void> = {
    pass: (incoming, outgoing) => pass(larkspur_url, incoming, outgoing),
    hang: () => {},
    nested: (_, outgoing) => outgoing.writeHead(200, json).end(nested),
    endless: (_, outgoing) => {
      outgoing.writeHead(200, json);
      const write = () => {
        while (!outgoing.destroyed && outgoing.write(chunk));
      };
      outgoing.on('drain', write);
      write();
    },
    slow: (_, outgoing) => {
      outgoing.writeHead(200, json);
      const timer = setInterval(() => outgoing.write('['), 100);
      outgoing.on('close', () => clearInterval(timer));
    },
  };
  const server = createServer((incoming, outgoing) => respond[mode](incoming, outgoing));
  process.on('message', (next: EmrMode) => {
    mode = next;
    process.send?.('done');
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.send?.(`http://127.0.0.1:${port}`);
  });
}

const json = { 'content-type': 'application/json' };

function pass(larkspur_url: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, headers, url = '/' } = incoming;
  const forwarded = request(new URL(url, larkspur_url), { ...(method && { method }), headers }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
  });
  forwarded.on('error', () => outgoing.destroy());
  incoming.pipe(forwarded);
}

// It stands for another machine, and must not take the cores of this one.
setPriority(constants.priority.PRIORITY_LOW);
startServer(process.argv[2] ?? '');
