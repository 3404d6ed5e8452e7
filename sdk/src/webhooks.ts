import type { WebhookEvent } from './generated/types.gen.ts';

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The request is not a genuine, recent event of the service: respond with status 400 and ignore it. */
export class WebhookVerificationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WebhookVerificationError';
  }
}

type Options = {
  /** How far the time of the request may be from now. Default: 300 seconds. */
  toleranceSeconds?: number;
};

/**
 * Checks the signature of a webhook request (Standard Webhooks) and returns the event. `body` is the raw body, before
 * anything parses it. Pass two secrets while a rotation is in progress.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = 300 }: Options = {},
): Promise<WebhookEvent> {
  const [id, time, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => {
    const value = readHeader(headers, name);
    if (!value) throw new WebhookVerificationError(`The header ${name} is missing.`);
    return value;
  }) as [string, string, string];
  if (!/^\d+$/.test(time) || Math.abs(Date.now() / 1000 - Number(time)) > toleranceSeconds) {
    throw new WebhookVerificationError(
      'The request is too old, or the clocks differ. Check the clock of this machine.',
    );
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = joinSigned(id, time, bytes);
  const received = signatures.split(' ').flatMap((each) => (each.startsWith('v1,') ? decode(each.slice(3)) : []));
  const secrets = typeof secret === 'string' ? [secret] : secret;
  const checks = await Promise.all(secrets.flatMap((each) => received.map((one) => isSignature(each, one, signed))));
  if (!checks.includes(true)) {
    throw new WebhookVerificationError(
      'The signature does not match. Check the secret, and that body is the raw body.',
    );
  }
  // Only the service has the secret, and its events have these types.
  return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
}

type SignOptions = {
  /** Default: a random ID. */
  id?: string;
  /** Default: now. */
  timestamp?: Date;
};

/**
 * Signs a body as the service does, to test your receiver without it: send the body with the returned headers. `secret`
 * is the one that the receiver verifies with.
 */
export async function signWebhook(
  body: string | Uint8Array,
  secret: string,
  { id = crypto.randomUUID().replaceAll('-', ''), timestamp = new Date() }: SignOptions = {},
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const time = String(Math.floor(timestamp.getTime() / 1000));
  const key = await importKey(secret, 'sign');
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, joinSigned(id, time, bytes)));
  return {
    'webhook-id': id,
    'webhook-timestamp': time,
    'webhook-signature': `v1,${btoa(String.fromCharCode(...signature))}`,
  };
}

type Received = { body: Uint8Array; headers: WebhookHeaders };

/** The raw body and headers of a request as Next.js route handlers, Hono, Deno, Bun and workers receive it. */
export async function fromFetchRequest(request: Request): Promise<Received> {
  return { body: new Uint8Array(await request.arrayBuffer()), headers: request.headers };
}

type NodeRequest = AsyncIterable<Uint8Array | string> & {
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readableEnded?: boolean;
  body?: unknown;
};

/** The raw body and headers of a request of Node's HTTP server, also inside Express and Fastify (`request.raw`). */
export async function fromNodeRequest(request: NodeRequest): Promise<Received> {
  const { body, headers, readableEnded } = request;
  if (typeof body === 'string') return { body: new TextEncoder().encode(body), headers };
  if (body instanceof Uint8Array) return { body, headers };
  if (readableEnded) {
    throw new WebhookVerificationError(
      'The body has already been parsed. Read it raw on this route: express.raw({ type: "*/*" }).',
    );
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return { body: whole, headers };
}

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  const entry = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return typeof entry === 'object' ? entry[0] : (entry as string | undefined);
}

/** WebCrypto compares in constant time. */
async function isSignature(
  secret: string,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return crypto.subtle.verify('HMAC', await importKey(secret, 'verify'), signature, signed);
}

async function importKey(secret: string, usage: 'sign' | 'verify') {
  const [key] = decode(secret.replace(/^whsec_/, ''));
  if (!key || key.length === 0) throw new TypeError('The webhook secret is not valid. It starts with whsec_.');
  return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [usage]);
}

/** What the signature covers. */
function joinSigned(id: string, time: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const prefix = new TextEncoder().encode(`${id}.${time}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  return signed;
}

/** Empty if the text is not base64. */
function decode(base64: string): Uint8Array<ArrayBuffer>[] {
  try {
    return [Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))];
  } catch {
    return [];
  }
}
