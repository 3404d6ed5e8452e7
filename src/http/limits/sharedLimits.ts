import { randomUUID } from 'node:crypto';
import type { Notifications } from '../../platform/db/notifications.ts';
import type { RateLimiter } from './rateLimit.ts';

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
 * every 100 ms what it granted, and counts what the others granted against its own buckets. A burst that reaches
 * several processes within that time is granted by each of them and deducted afterwards, so that a caller gets the
 * configured rate on average. Without a database connection each process grants the whole rate.
 */
export function openSharedLimits({ notify, listen }: Notifications): SharedLimits {
  const own = randomUUID();
  const limits = new Map<string, RateLimiter>();

  const share = (name: string, limit: RateLimiter): RateLimiter => {
    limits.set(name, limit);
    const unreported = new Map<string, number>();
    const report = () => {
      const granted = [...unreported].filter(([, cost]) => cost > 0).sort(([, a], [, b]) => b - a);
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
