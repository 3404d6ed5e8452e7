import type { Context, LoggedRequest, RequestLog } from '../context.ts';
import { groupCommit } from '../db/groupCommit.ts';
import { insertRequests } from './requests.ts';

/** Requests waiting to be stored: a few seconds of a busy process, two megabytes. */
const waiting_max = 10_000;
/** Unauthenticated requests beyond this rate are not logged: anyone can send them, and more of them add no information. */
const unauthenticated_per_second = 20;

/** Opens the request log. If the database is unavailable, requests are dropped and counted; responses never wait for it. */
export function openRequestLog(
  { db, metrics }: Pick<Context, 'db' | 'metrics'>,
  now: () => number = () => Date.now(),
): RequestLog & { close(): Promise<void> } {
  const group = groupCommit<LoggedRequest>(async (requests) => {
    await insertRequests(db.system.pooled, requests);
    return [];
  });
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
  let second = 0;
  let admitted = 0;
  return () => {
    const current = Math.floor(now() / 1000);
    if (current !== second) {
      second = current;
      admitted = 0;
    }
    admitted += 1;
    return admitted <= unauthenticated_per_second;
  };
}
