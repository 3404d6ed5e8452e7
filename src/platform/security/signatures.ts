import { createHmac, hash, timingSafeEqual } from 'node:crypto';

type Message = {
  /** The same on every attempt, so that receivers can detect duplicates. */
  id: string;
  /** New on every attempt: receivers reject timestamps more than 5 minutes off. */
  timestamp_s: number;
  /** The exact request body. */
  body: string;
  /** `whsec_…`, newest first: after a rotation the old secret signs too, for 24 hours. */
  secrets: readonly string[];
};

/**
 * The signature headers of a webhook: those of Standard Webhooks, with one signature for each live secret, and
 * `cobalt-verification`, whose key is the newest secret as a literal string including its prefix.
 */
export function signWebhook({ id, timestamp_s, body, secrets }: Message) {
  const [newest] = secrets;
  if (newest === undefined) throw new Error('Signing a webhook requires at least one secret.');
  const content = `${id}.${timestamp_s}.${body}`;
  const signatures = secrets.map((secret) => `v1,${hmac(decodeKey(secret), content).toString('base64')}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp_s),
    'webhook-signature': signatures.join(' '),
    'cobalt-verification': hmac(newest, body).toString('hex'),
  };
}

/** The result of a signature check. `late`: correct, but the timestamp is outside the tolerance. */
export type Verdict = 'valid' | 'wrong' | 'late' | 'missing';

/** The documented timestamp tolerance. */
const tolerance_s = 300;

/** Verifies a webhook as its receiver should: each kind of signature that is sent must match one of the secrets. */
export function verifyWebhook(
  headers: Record<string, string | string[] | undefined>,
  body: string | Buffer,
  { secrets, now_s }: { secrets: readonly string[]; now_s: number },
): Verdict {
  const named = (name: string) => String(headers[name] ?? '');
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(named);
  const verification = named('cobalt-verification');
  if (!id || !timestamp || !signature) return 'missing';
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), Buffer.from(body)]);
  const signed = (secret: string) => `v1,${hmac(decodeKey(secret), content).toString('base64')}`;
  const signatures = signature.split(' ');
  const fits = secrets.some((secret) => signatures.some((each) => same(each, signed(secret))));
  const verified = verification === '' || secrets.some((each) => same(verification, hmac(each, body).toString('hex')));
  if (!fits || !verified) return 'wrong';
  return Math.abs(now_s - Number(timestamp)) <= tolerance_s ? 'valid' : 'late';
}

function same(one: string, other: string): boolean {
  return sameHash(Buffer.from(one), Buffer.from(other));
}

/** Node's base64 decoder skips invalid characters: without this check a damaged secret would yield a short or empty key. */
function decodeKey(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  // Standard Webhooks requires 24 to 64 bytes; ours have 32.
  if (secret.startsWith('whsec_') && key.length >= 24 && key.length <= 64) return key;
  throw new Error('A webhook secret is not in the form whsec_<base64 of 24 to 64 bytes>.');
}

function hmac(key: string | Buffer, content: string | Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest();
}

/**
 * The stored form of a token. SHA-256 is enough: a token has 256 random bits and cannot be guessed, and a slow hash
 * would slow down every request. For passwords see passwords.ts.
 */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/**
 * The same for credentials that a client sends with every request. Only a few are kept: made-up ones make the cache
 * start again.
 */
export function hashCredential(credential: string): Buffer {
  const cached = hashes.get(credential);
  if (cached) return cached;
  const hashed = hashToken(credential);
  if (hashes.size >= hashes_max) hashes.clear();
  hashes.set(credential, hashed);
  return hashed;
}

const hashes = new Map<string, Buffer>();
const hashes_max = 1_000;

/** Compares two hashes in constant time. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
