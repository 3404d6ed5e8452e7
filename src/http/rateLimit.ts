/** Whether a request is allowed, and how many requests the client has left. */
export type Allowance = { allowed: boolean; limit: number; remaining: number; reset_s: number };

/**
 * A token bucket per client that refills at `per_second` up to `burst`. It is kept in memory: each API process grants
 * the whole rate, because a shared counter would cost a round trip per request.
 */
export function rateLimiter(per_second: number, burst: number, now: () => number = () => performance.now()) {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return (client_id: string): Allowance => {
    const at = now();
    const bucket = buckets.get(client_id) ?? { tokens: burst, at };
    bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) / 1000) * per_second);
    bucket.at = at;
    buckets.set(client_id, bucket);
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= 1;
    const missing = allowed ? burst - bucket.tokens : 1 - bucket.tokens;
    return {
      allowed,
      limit: per_second,
      remaining: Math.floor(bucket.tokens),
      reset_s: Math.max(1, Math.ceil(missing / per_second)),
    };
  };
}
