import { isIPv6 } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { apiError } from '../../catalog/errors.ts';
import { isOriginRefusal } from '../../product/clients/requestOrigins.ts';
import { isDatabaseFailure } from '../sendError.ts';
import type { RateLimiter } from './rateLimit.ts';

/**
 * How requests to a route count against the limit of their remote address. `every_request` (the default): no caller is
 * known. `failures`: requests that do not authenticate. `exempt`: the response costs no more than an error.
 */
export type AddressLimiting = 'every_request' | 'failures' | 'exempt';

type Caller = Pick<FastifyRequest, 'ip' | 'headers'>;

export type AddressLimit = {
  /** Counts a request without credentials, or throws `rate_limited`. */
  count(request: Caller, cost: number): Promise<void>;
  /** Charges what the bodies of a counted request and its response cost in addition. */
  chargeBodies(request: Caller, response_bytes: number): void;
  /**
   * Authenticates a request and counts it if that fails, more than once if it has a large body. Once the limit is
   * reached, only credentials that were valid before are checked: a flood must not lock out the callers behind the same
   * proxy, and must not cost lookups.
   */
  authenticate<T>(request: Caller, credential: string | undefined, authenticate: () => Promise<T>): Promise<T>;
};

const credentials_max = 20_000;

/**
 * Rejections are delayed: otherwise a sender that waits for each one before it sends again would keep the process busy
 * with rejections alone. The delay varies, or the next requests of many connections would arrive together. It is up to
 * four times as long for a large body: the sender's next one takes time to arrive even if nobody reads it. Over
 * `delayed_max` it is sent at once, so that waiting requests take little memory.
 */
const delay_ms = 500;
const delayed_max = 1000;

export function createAddressLimit(limit: RateLimiter): AddressLimit {
  const valid = new Set<string>();
  let delayed = 0;
  const reject = async (request: Caller, retry_after_s: number): Promise<never> => {
    if (delayed < delayed_max) {
      delayed += 1;
      await pause(delay_ms * (1 + Math.random()) * (1 + Math.min(3, costOfBody(request))));
      delayed -= 1;
    }
    throw apiError('rate_limited', undefined, { retry_after_s });
  };
  return {
    count: async (request, cost) => {
      const { allowed, reset_s } = limit(addressKey(request.ip), cost);
      if (!allowed) await reject(request, reset_s);
    },
    chargeBodies: (request, response_bytes) =>
      limit.charge(addressKey(request.ip), costOfBody(request) + costOfBytes(response_bytes)),
    authenticate: async (request, credential, authenticate) => {
      const address = addressKey(request.ip);
      const is_known = credential !== undefined && valid.has(credential);
      // Taken before and returned after, so that parallel attempts cannot exceed the limit.
      const { allowed, reset_s } = limit(address);
      if (!allowed && !is_known) return reject(request, reset_s);
      try {
        const caller = await authenticate();
        if (allowed) limit.refund(address);
        if (credential !== undefined && !is_known) {
          if (valid.size >= credentials_max) valid.clear();
          valid.add(credential);
        }
        return caller;
      } catch (error) {
        // Otherwise the response would show that these credentials were valid elsewhere.
        if (!allowed && isOriginRefusal(error)) return reject(request, reset_s);
        // Other errors count, also unexpected ones: what the request contains may have caused them.
        if (!isDatabaseFailure(error)) limit.charge(address, costOfBody(request));
        else if (allowed) limit.refund(address);
        throw error;
      }
    },
  };
}

/**
 * Node reads the body of a rejected request to its end, so that the caller sees the response. Reading 64 KB takes about
 * as long as rejecting a request without a body.
 */
function costOfBody({ headers }: Caller): number {
  return costOfBytes(Number(headers['content-length'] ?? 0));
}

/** Sending takes about as long as reading. */
function costOfBytes(bytes: number): number {
  return Math.floor(bytes / 65_536);
}

/** IPv6 hosts choose their own last 64 bits, so their network counts. */
export function addressKey(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.\d+)/i, '').replace(/%.*$/, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  const all = [...groups, ...Array<string>(Math.max(0, zeros)).fill('0'), ...after];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
