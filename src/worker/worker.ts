import type { Lease } from '../db/lease.ts';
import { within } from './waitAtMost.ts';

/** Work that waits somewhere. The worker knows nothing of what it is, only how it is claimed, held and done. */
export type WaitingWork = {
  claim(count: number): Promise<Lease[]>;
  /** Which of the leases are still ours; the others are aborted. */
  extend(leases: Lease[]): Promise<Set<string>>;
  perform(lease: Lease, signal: AbortSignal): Promise<void>;
};

export type Worker = {
  /** Something may be ready: look now rather than at the next poll. */
  wake(): void;
  /** Whether the worker has looked for work lately: false when it hangs or the database is gone. */
  alive(): boolean;
  /** Takes no more work; what runs may finish within the grace, then it is aborted and goes back to the queue. */
  stop(grace_ms: number): Promise<void>;
};

/** Why running work is aborted. */
export const stop_reasons = { shutdown: 'shutdown', lease_lost: 'lease_lost' } as const;

const poll_ms = 1_000;
const alive_ms = 10_000;

export function startWorker(
  work: WaitingWork,
  options: { slots: number; lease_ms: number; failed: (error: unknown) => void },
): Worker {
  const running = new Map<string, { lease: Lease; abort: AbortController; done: Promise<void> }>();
  let stopping = false;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let looked_at = Date.now();

  const run = (lease: Lease) => {
    const abort = new AbortController();
    // A row comes back to the worker that has it still in hand when its lease ended unnoticed: only the new one counts.
    running.get(lease.id)?.abort.abort(stop_reasons.lease_lost);
    const done = work
      .perform(lease, abort.signal)
      .catch(options.failed)
      .finally(() => {
        if (running.get(lease.id)?.lease === lease) running.delete(lease.id);
        wake();
      });
    running.set(lease.id, { lease, abort, done });
  };

  const look = async () => {
    do {
      lookAgain = false;
      const free = options.slots - running.size;
      if (stopping || free <= 0) return;
      const leases = await work.claim(free);
      looked_at = Date.now();
      for (const lease of leases) run(lease);
      // A full hand means there may be more; an empty one that only a wake or the poll brings some.
      if (leases.length === free) lookAgain = true;
    } while (lookAgain);
  };

  const wake = () => {
    if (stopping) return;
    if (looking) {
      lookAgain = true;
      return;
    }
    looking = look()
      .catch(options.failed)
      .finally(() => {
        looking = undefined;
        if (lookAgain) wake();
      });
  };

  const beat = async () => {
    const leases = [...running.values()].map((entry) => entry.lease);
    if (leases.length === 0) return;
    const held = await work.extend(leases);
    for (const lease of leases) {
      const entry = running.get(lease.id);
      // While the beat was on its way the row may have been given back and claimed anew: that lease was not asked about.
      if (entry?.lease === lease && !held.has(lease.id)) entry.abort.abort(stop_reasons.lease_lost);
    }
  };

  /** A claim under way may bring work yet; with a database that no longer answers neither of the two ends. */
  const idle = async () => {
    await looking;
    await Promise.all([...running.values()].map((entry) => entry.done));
  };

  const poll = setInterval(wake, poll_ms);
  // Three beats per lease: one may be lost without losing the work.
  const heart = setInterval(() => void beat().catch(options.failed), options.lease_ms / 3);
  wake();

  return {
    wake,
    alive: () => !stopping && (running.size >= options.slots || Date.now() - looked_at < alive_ms),
    stop: async (grace_ms) => {
      stopping = true;
      clearInterval(poll);
      await within(grace_ms, idle());
      for (const entry of running.values()) entry.abort.abort(stop_reasons.shutdown);
      await within(3_000, idle());
      clearInterval(heart);
    },
  };
}
