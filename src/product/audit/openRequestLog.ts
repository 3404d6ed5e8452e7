import type { Context, LoggedRequest, RequestLog } from '../context.ts';
import { groupCommit } from '../../platform/db/groupCommit.ts';
import { insertRequests } from './requests.ts';

/** Requests that end within this time are stored by one statement. No response waits for it. */
const interval_ms = 100;
/** Requests waiting to be stored: a few seconds of a busy process, two megabytes. */
const waiting_max = 10_000;
/**
 * Unauthenticated requests beyond these rates are not logged: anyone can send them, to any path, and more of them add no
 * information. A flood that lasts a day leaves 120,000 rows, about 20 MB.
 */
const unauthenticated_limits = [
  { period_ms: 1_000, requests: 20 },
  { period_ms: 3_600_000, requests: 5_000 },
];

/** Opens the request log. If the database is unavailable, requests are dropped and counted; responses never wait for it. */
export function openRequestLog(
  { db, metrics }: Pick<Context, 'db' | 'metrics'>,
  now: () => number = () => Date.now(),
): RequestLog & { close(): Promise<void> } {
  const group = groupCommit<LoggedRequest>(
    async (requests) => {
      await insertRequests(db.system.pooled, requests);
      return [];
    },
    { interval_ms },
  );
  const admit = unauthenticatedLimit(now);
  return {
    add: (request) => {
      if (group.waiting() >= waiting_max || (request.client_id === null && !admit())) {
        metrics.requests_unlogged.inc();
        return;
      }
      group.add(request).catch(() => metrics.requests_unlogged.inc());
    },
    close: group.flushed,
  };
}

function unauthenticatedLimit(now: () => number): () => boolean {
  const limits = unauthenticated_limits.map((limit) => ({ ...limit, period: 0, admitted: 0 }));
  return () => {
    for (const limit of limits) {
      const period = Math.floor(now() / limit.period_ms);
      if (period !== limit.period) Object.assign(limit, { period, admitted: 0 });
    }
    const admitted = limits.every((limit) => limit.admitted < limit.requests);
    // One that is not logged counts against no limit.
    if (admitted) for (const limit of limits) limit.admitted += 1;
    return admitted;
  };
}
