import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { apiError } from '../../catalog/errors.ts';
import type { Notifications } from '../../platform/db/notifications.ts';

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

export type SharedLimits = {
  /** The same limit in every API process. `name` identifies it among them. */
  share(name: string, limit: RateLimiter): RateLimiter;
  /** Starts to count what other processes grant. */
  listen(): Promise<void>;
};

type Report = { from: string; name: string; granted: [key: string, cost: number][] };

const interval_ms = 100;
/** A notification has room for 8,000 bytes. Callers who took less are left out. */
const keys_max = 100;

/**
 * Limits enforced across all API processes, without a round trip per request: each process grants from memory, reports
 * every 100 ms what it granted and was given back, and counts what the others granted against its own buckets. A burst that reaches
 * several processes within that time is granted by each of them and deducted afterwards, so that a caller gets the
 * configured rate on average. Without a database connection each process grants the whole rate.
 */
export function createSharedLimits({ notify, listen }: Notifications): SharedLimits {
  const own = randomUUID();
  const limits = new Map<string, RateLimiter>();

  const share = (name: string, limit: RateLimiter): RateLimiter => {
    limits.set(name, limit);
    const unreported = new Map<string, number>();
    const report = () => {
      const granted = [...unreported].filter(([, cost]) => cost !== 0).sort(([, a], [, b]) => b - a);
      unreported.clear();
      if (granted.length === 0) return;
      const message: Report = { from: own, name, granted: granted.slice(0, keys_max) };
      notify('chartwire_limits', JSON.stringify(message));
    };
    const add = (key: string, cost: number) => {
      if (unreported.size === 0) setTimeout(report, interval_ms).unref();
      unreported.set(key, (unreported.get(key) ?? 0) + cost);
    };
    const take = (key: string, cost = 1) => {
      const allowance = limit(key, cost);
      if (allowance.allowed) add(key, cost);
      return allowance;
    };
    const refund = (key: string, cost = 1) => {
      limit.refund(key, cost);
      add(key, -cost);
    };
    return Object.assign(take, { ...limit, refund });
  };

  const onReport = (payload: string | undefined) => {
    if (payload === undefined) return;
    // Only processes of this installation can notify.
    const { from, name, granted }: Report = JSON.parse(payload);
    if (from === own) return;
    for (const [key, cost] of granted) limits.get(name)?.count(key, cost);
  };

  return { share, listen: () => listen('chartwire_limits', onReport) };
}
