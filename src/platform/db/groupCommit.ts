import { setImmediate as endOfTurn, setTimeout as pause } from 'node:timers/promises';

export type Group<Entry, Result> = {
  /**
   * Resolves with the entry's result when the entry is committed. If more entries are `expected`, this one included,
   * the statement waits for them: a millisecond for each, at most 20.
   */
  add(entry: Entry, expected?: number): Promise<Result>;
  /** How many entries wait for the next statement. */
  waiting(): number;
  /** Resolves when all added entries are written or have failed. */
  flushed(): Promise<void>;
};

type Options = {
  /** Entries per statement. */
  batch_max?: number;
  /** At least this long from one statement to the next, where nobody waits for the result. */
  interval_ms?: number;
  /** Called when nothing is left to write. */
  onIdle?: () => void;
};

/** The longest wait for expected entries. */
const wait_max_ms = 20;

/**
 * Group commit: entries of one turn of the event loop, and those that arrive while a statement is running, are written
 * together by the next one. A single entry does not wait; under load hundreds share one synced commit. `write` returns
 * one result per entry, in their order.
 */
export function groupCommit<Entry, Result = unknown>(
  write: (entries: readonly Entry[]) => Promise<readonly Result[]>,
  { batch_max = 500, interval_ms = 0, onIdle }: Options = {},
): Group<Entry, Result> {
  type Waiting = { entry: Entry; resolve: (result: Result) => void; reject: (error: unknown) => void };
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let next_at = 0;
  let expected_now = 1;
  let onComplete = () => {};

  const complete = () => waiting.length >= Math.min(expected_now, batch_max);
  const gather = async () => {
    await endOfTurn();
    if (complete()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(expected_now, wait_max_ms));
      onComplete = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    onComplete = () => {};
  };

  const drain = async () => {
    do {
      const early_ms = next_at - performance.now();
      await (early_ms > 0 ? pause(early_ms) : gather());
      next_at = performance.now() + interval_ms;
      const batch = waiting.splice(0, batch_max);
      try {
        const results = await write(batch.map(({ entry }) => entry));
        // The array may be shorter where nobody reads the results.
        for (const [n, { resolve }] of batch.entries()) resolve(results[n] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    } while (waiting.length > 0);
    writing = undefined;
    onIdle?.();
  };

  return {
    add: (entry, expected = 1) =>
      new Promise((resolve, reject) => {
        waiting.push({ entry, resolve, reject });
        expected_now = expected;
        writing ??= drain();
        if (complete()) onComplete();
      }),
    waiting: () => waiting.length,
    flushed: async () => {
      await writing;
    },
  };
}
