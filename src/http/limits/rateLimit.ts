import type { FastifyReply } from 'fastify';
import { apiError } from '../../catalog/errors.ts';

/** Whether a request is allowed, and how many requests the caller has left of `limit`, the most it can have at once. */
export type Allowance = { allowed: boolean; limit: number; remaining: number; reset_s: number };

export type RateLimiter = {
  (key: string, cost?: number): Allowance;
  /** Gives back what a request cost. */
  refund(key: string, cost?: number): void;
  /** Charges a cost that became known after a request was allowed, at most to one second's refill below zero. */
  charge(key: string, cost: number): void;
  /** Charges what another process granted, even below zero. */
  count(key: string, cost: number): void;
};

/** More callers than one process serves; bounds the memory that requests from made-up addresses can take. */
const buckets_max = 50_000;

/** A token bucket per caller that refills at `per_second` up to `burst`, in memory. */
export function rateLimiter(
  per_second: number,
  burst: number,
  now: () => number = () => performance.now(),
): RateLimiter {
  // In the order of their last use.
  const buckets = new Map<string, { tokens: number; at: number }>();
  const fill = (key: string, at: number) => {
    const bucket = buckets.get(key) ?? { tokens: burst, at };
    bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) / 1000) * per_second);
    bucket.at = at;
    buckets.delete(key);
    buckets.set(key, bucket);
    const [oldest] = buckets.keys();
    if (buckets.size > buckets_max && oldest !== undefined) buckets.delete(oldest);
    return bucket;
  };
  const take = (key: string, cost = 1): Allowance => {
    const bucket = fill(key, now());
    const allowed = bucket.tokens >= cost;
    if (allowed) bucket.tokens -= cost;
    const missing = allowed ? burst - bucket.tokens : cost - bucket.tokens;
    return {
      allowed,
      limit: burst,
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      reset_s: Math.max(1, Math.ceil(missing / per_second)),
    };
  };
  const refund = (key: string, cost = 1) => {
    const bucket = buckets.get(key);
    if (bucket) bucket.tokens = Math.min(burst, bucket.tokens + cost);
  };
  const charge = (key: string, cost: number) => {
    const bucket = buckets.get(key);
    if (bucket) bucket.tokens = Math.max(-per_second, bucket.tokens - cost);
  };
  const count = (key: string, cost: number) => {
    fill(key, now()).tokens -= cost;
  };
  return Object.assign(take, { refund, charge, count });
}

/** Tells the caller what is left, or throws `rate_limited`. */
export function applyRateLimit(reply: FastifyReply, allowance: Allowance): void {
  reply.header('ratelimit-limit', allowance.limit);
  reply.header('ratelimit-remaining', allowance.remaining);
  reply.header('ratelimit-reset', allowance.reset_s);
  if (!allowance.allowed) throw apiError('rate_limited', undefined, { retry_after_s: allowance.reset_s });
}
