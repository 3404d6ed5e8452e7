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

/**
 * What the parent sends: a receiver's secret, the share of requests that fail from now on, or whether a receiver flaps:
 * then every other request to it fails, each time in another way.
 */
export type ReceiverMessage =
  | { path: string; secret: string }
  | { failing: number }
  | { path: string; flapping: boolean };

const [port = '', file = '', seed = ''] = process.argv.slice(2);
const slow_ms = 3_000;
const slow_share = 0.05;
const secrets = new Map<string, string>();
const chance = seededChance(Number(seed));
let failing = 0;
/** The receivers that flap, with the number of requests since. */
const flapping = new Map<string, number>();

process.on('message', (message: ReceiverMessage) => {
  if ('failing' in message) failing = message.failing;
  else if ('flapping' in message) {
    if (message.flapping) flapping.set(message.path, 0);
    else flapping.delete(message.path);
  } else secrets.set(message.path, message.secret);
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
  const respond = nextResponse(request.url ?? '');
  note(request, body, respond.status);
  respond.send(response, chance);
});
server.listen(Number(port), '127.0.0.1', () => process.send?.('ready'));

type Response = { status: number | null; send(response: ServerResponse, chance: Chance): void };

const accept: Response = { status: 204, send: (response) => response.writeHead(204).end() };
const fail: Response = { status: 500, send: (response) => response.writeHead(500).end('failed') };
const reset: Response = { status: null, send: (response) => response.destroy() };
const failures: readonly [Response, ...Response[]] = [
  fail,
  { status: 503, send: (response) => response.writeHead(503, { 'retry-after': '2' }).end() },
  reset,
];
/** Longer than the service waits. */
const hang_ms = 20_000;
const hang: Response = { status: null, send: (response) => setTimeout(() => response.destroy(), hang_ms) };
/** Longer than most receivers take, within the service's timeout. */
const acceptSlowly: Response = {
  status: 200,
  send: (response) => setTimeout(() => response.writeHead(200).end(), slow_ms),
};

const flaps = [accept, fail, accept, hang, accept, reset];

function nextResponse(path: string): Response {
  const requests = flapping.get(path);
  if (requests !== undefined) {
    flapping.set(path, requests + 1);
    return flaps[requests % flaps.length] ?? accept;
  }
  if (chance.happens(failing)) return chance.pick(failures);
  return chance.happens(slow_share) ? acceptSlowly : accept;
}

function note(request: IncomingMessage, body: Buffer, status: number | null): void {
  const { headers, url: path = '' } = request;
  const received: Received = {
    at: Date.now(),
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
