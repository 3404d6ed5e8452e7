/** How many requests a client has left, and when it may come again. */
export type Allowance = { allowed: boolean; limit: number; remaining: number; reset_s: number };

/**
 * A bucket per client that fills at `per_second` up to `burst`. It lives in the process: several API processes each
 * grant the whole rate, which a shared counter could prevent only by a round trip for every request.
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
