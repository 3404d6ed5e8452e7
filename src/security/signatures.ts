import { createHmac } from 'node:crypto';
import { sameHash } from './hash.ts';

type Message = {
  /** The same on every try, so that the receiver can tell a repetition. */
  id: string;
  /** Fresh on every try: receivers refuse a timestamp that is more than 5 minutes off. */
  timestamp_s: number;
  /** The exact text of the request's body. */
  body: string;
  /** `whsec_…`, newest first: after a rotation the old secret signs too, for 24 hours. */
  secrets: readonly string[];
};

/**
 * The headers by which a receiver knows that a webhook is ours: those of Standard Webhooks, with one signature for each
 * live secret, and `cobalt-verification`, whose key is the newest secret as it is written, prefix and all.
 */
export function signWebhook({ id, timestamp_s, body, secrets }: Message): Record<string, string> {
  const [newest] = secrets;
  if (newest === undefined) throw new Error('A webhook needs at least one secret to be signed with.');
  const content = `${id}.${timestamp_s}.${body}`;
  const signatures = secrets.map((secret) => `v1,${hmac(keyOf(secret), content).toString('base64')}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp_s),
    'webhook-signature': signatures.join(' '),
    'cobalt-verification': hmac(newest, body).toString('hex'),
  };
}

/** What the signature of a webhook is worth: right; not ours; ours, but of another time; not there. */
export type Verdict = 'valid' | 'wrong' | 'late' | 'missing';

/** How far a timestamp may be off, as receivers are told. */
const tolerance_s = 300;

/** Judges a webhook as its receiver should: both kinds of signature must fit one of the secrets where they are sent. */
export function judgeWebhook(
  headers: Record<string, string | string[] | undefined>,
  body: string | Buffer,
  { secrets, now_s }: { secrets: readonly string[]; now_s: number },
): Verdict {
  const named = (name: string) => String(headers[name] ?? '');
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(named);
  const verification = named('cobalt-verification');
  if (!id || !timestamp || !signature) return 'missing';
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), Buffer.from(body)]);
  const signed = (secret: string) => `v1,${hmac(keyOf(secret), content).toString('base64')}`;
  const given = signature.split(' ');
  const fits = secrets.some((secret) => given.some((each) => same(each, signed(secret))));
  const verified = verification === '' || secrets.some((each) => same(verification, hmac(each, body).toString('hex')));
  if (!fits || !verified) return 'wrong';
  return Math.abs(now_s - Number(timestamp)) <= tolerance_s ? 'valid' : 'late';
}

function same(one: string, other: string): boolean {
  return sameHash(Buffer.from(one), Buffer.from(other));
}

/** Node's base64 skips what it cannot read: without this check a damaged secret would sign with a short or empty key. */
function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  // Standard Webhooks asks for 24 to 64 bytes; ours have 32.
  if (secret.startsWith('whsec_') && key.length >= 24 && key.length <= 64) return key;
  throw new Error('A webhook secret is not in the form whsec_<base64 of 24 to 64 bytes>.');
}

function hmac(key: string | Buffer, content: string | Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest();
}
