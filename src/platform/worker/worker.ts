import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Lease } from '../db/lease.ts';

/** A queue of leased work. The worker knows only how to claim it, extend its leases and run it. */
export type WorkSource = {
  claim(count: number): Promise<Lease[]>;
  /** Returns the ids of the leases that are still ours; the work of the others is aborted. */
  extend(leases: Lease[]): Promise<Set<string>>;
  run(lease: Lease, signal: AbortSignal): Promise<void>;
};

export type Worker = {
  /** Looks for work now instead of at the next poll. */
  wake(): void;
  /** Whether the worker has recently looked for work: false if it hangs or the database is down. */
  alive(): boolean;
  /** Claims no more work, waits up to `grace_ms` for running work, then aborts it so that it returns to the queue. */
  stop(grace_ms: number): Promise<void>;
};

/** Why running work is aborted. */
export const stop_reasons = { shutdown: 'shutdown', lease_lost: 'lease_lost' } as const;

const poll_ms = 1_000;
const alive_ms = 10_000;

export function startWorker(
  source: WorkSource,
  options: { slots: number; lease_ms: number; onError: (error: unknown) => void },
): Worker {
  const running = new Map<string, { lease: Lease; abort: AbortController; done: Promise<void> }>();
  let stopping = false;
  let claiming: Promise<void> | undefined;
  let claimAgain = false;
  let claimed_at = Date.now();

  const run = (lease: Lease) => {
    const abort = new AbortController();
    // This worker can claim a row it is still working on if the lease expired unnoticed. Only the new lease counts.
    running.get(lease.id)?.abort.abort(stop_reasons.lease_lost);
    const done = source
      .run(lease, abort.signal)
      .catch(options.onError)
      .finally(() => {
        if (running.get(lease.id)?.lease === lease) running.delete(lease.id);
        wake();
      });
    running.set(lease.id, { lease, abort, done });
  };

  const claim = async () => {
    do {
      // Work that is committed together ends in the same turn, so one claim covers all of its slots.
      await endOfTurn();
      claimAgain = false;
      const free = options.slots - running.size;
      if (stopping || free <= 0) return;
      const leases = await source.claim(free);
      claimed_at = Date.now();
      for (const lease of leases) run(lease);
      // If every requested lease was granted there may be more work; otherwise wait for a wake-up or the next poll.
      if (leases.length === free) claimAgain = true;
    } while (claimAgain);
  };

  const wake = () => {
    if (stopping) return;
    if (claiming) {
      claimAgain = true;
      return;
    }
    claiming = claim()
      .catch(options.onError)
      .finally(() => {
        claiming = undefined;
        if (claimAgain) wake();
      });
  };

  const sendHeartbeat = async () => {
    const leases = [...running.values()].map((entry) => entry.lease);
    if (leases.length === 0) return;
    const extended = await source.extend(leases);
    for (const lease of leases) {
      const entry = running.get(lease.id);
      // The row may have been released and claimed again during the heartbeat, which did not cover the new lease.
      if (entry?.lease === lease && !extended.has(lease.id)) entry.abort.abort(stop_reasons.lease_lost);
    }
  };

  /** A claim in progress may still return work. If the database does not respond, neither wait ends. */
  const idle = async () => {
    await claiming;
    await Promise.all([...running.values()].map((entry) => entry.done));
  };

  const poll = setInterval(wake, poll_ms);
  // Three heartbeats per lease: one can fail without losing the work.
  const heartbeat = setInterval(() => void sendHeartbeat().catch(options.onError), options.lease_ms / 3);
  wake();

  return {
    wake,
    alive: () => !stopping && (running.size >= options.slots || Date.now() - claimed_at < alive_ms),
    stop: async (grace_ms) => {
      stopping = true;
      clearInterval(poll);
      await waitAtMost(grace_ms, idle());
      for (const entry of running.values()) entry.abort.abort(stop_reasons.shutdown);
      await waitAtMost(3_000, idle());
      clearInterval(heartbeat);
    },
  };
}

/**
 * How many jobs of a client this worker is running. A transaction of one of them waits a few milliseconds for the
 * others: EMR responses arrive at different times, and jobs that could share a commit would miss each other.
 */
export type InProgress = () => number;

/** For a job that waits for no other. */
export const alone: InProgress = () => 1;

/** Counts what is in progress, by client. */
export function countByClient() {
  const counts = new Map<string, number>();
  return {
    of:
      (client_id: string): InProgress =>
      () =>
        counts.get(client_id) ?? 1,
    during: async (client_id: string, work: () => Promise<void>): Promise<void> => {
      counts.set(client_id, (counts.get(client_id) ?? 0) + 1);
      try {
        await work();
      } finally {
        const left = (counts.get(client_id) ?? 1) - 1;
        if (left > 0) counts.set(client_id, left);
        else counts.delete(client_id);
      }
    },
  };
}

/** Waits for the promise to settle, or until the time is up, whichever comes first. */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}
