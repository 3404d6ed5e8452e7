/**
 * Runs the webhook receivers of the clients in one process. Each request is checked with the `standardwebhooks` package
 * and by hand, and noted in a file before the response is sent. The parent sends secrets and how many requests are to
 * fail.
 */
import { createHash, createHmac } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { type Chance, seededChance } from '../../../larkspur/seed/random.ts';
import type { Received } from '../check/evidence.ts';

/** What the parent sends: a receiver's secret, or the share of requests that fail from now on. */
export type ReceiverMessage = { path: string; secret: string } | { failing: number };

const [port = '', file = '', seed = ''] = process.argv.slice(2);
const slow_ms = 3_000;
const slow_share = 0.05;
const secrets = new Map<string, string>();
const chance = seededChance(Number(seed));
let failing = 0;

process.on('message', (message: ReceiverMessage) => {
  if ('failing' in message) failing = message.failing;
  else secrets.set(message.path, message.secret);
});

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    // The worker was killed while it sent the request.
    return;
  }
  const body = Buffer.concat(chunks);
  const respond = chance.happens(failing) ? chance.pick(failures) : chance.happens(slow_share) ? acceptSlowly : accept;
  note(request, body, respond.status);
  respond.send(response, chance);
});
server.listen(Number(port), '127.0.0.1', () => process.send?.('ready'));

type Response = { status: number | null; send(response: ServerResponse, chance: Chance): void };

const accept: Response = { status: 204, send: (response) => response.writeHead(204).end() };
const failures: readonly [Response, ...Response[]] = [
  { status: 500, send: (response) => response.writeHead(500).end('failed') },
  { status: 503, send: (response) => response.writeHead(503, { 'retry-after': '2' }).end() },
  { status: null, send: (response) => response.destroy() },
];
/** Longer than most receivers take, within the service's timeout. */
const acceptSlowly: Response = {
  status: 200,
  send: (response) => setTimeout(() => response.writeHead(200).end(), slow_ms),
};

function note(request: IncomingMessage, body: Buffer, status: number | null): void {
  const { headers, url: path = '' } = request;
  const received: Received = {
    url: `http://127.0.0.1:${port}${path}`,
    webhook_id: String(headers['webhook-id']),
    attempt: Number(headers['webhook-attempt']),
    status,
    valid: isValid(request, body, secrets.get(path) ?? ''),
    body_sha256: createHash('sha256').update(body).digest('hex'),
  };
  appendFileSync(file, `${JSON.stringify(received)}\n`);
}

function isValid({ headers }: IncomingMessage, body: Buffer, secret: string): boolean {
  try {
    new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
  } catch {
    return false;
  }
  // By hand, as documented for clients without the package.
  return headers['cobalt-verification'] === createHmac('sha256', secret).update(body).digest('hex');
}
