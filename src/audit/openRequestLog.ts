import type { Context, LoggedRequest, RequestLog } from '../context.ts';
import { groupCommit } from './groupCommit.ts';
import { insertRequests } from './requests.ts';

/** Requests that wait to be stored: some seconds of a busy process, two megabytes. */
const waiting_max = 10_000;
/** Anybody can send requests without being known; more than this of them in a second tell nothing new. */
const strangers_per_second = 20;

/** Opens the log of requests. With the database away it forgets and counts: answers do not wait for it. */
export function openRequestLog(
  { db, metrics }: Pick<Context, 'db' | 'metrics'>,
  now: () => number = () => Date.now(),
): RequestLog & { close(): Promise<void> } {
  const group = groupCommit<LoggedRequest>((requests) => insertRequests(db.system.pooled, requests));
  const admit = strangerLimit(now);
  return {
    add: (request) => {
      if (group.waiting() >= waiting_max || (request.client_id === null && !admit())) {
        metrics.requests_unlogged.inc();
        return;
      }
      group.add(request).catch(() => metrics.requests_unlogged.inc());
    },
    close: group.settled,
  };
}

function strangerLimit(now: () => number): () => boolean {
  let second = 0;
  let admitted = 0;
  return () => {
    const present = Math.floor(now() / 1000);
    if (present !== second) {
      second = present;
      admitted = 0;
    }
    admitted += 1;
    return admitted <= strangers_per_second;
  };
}
