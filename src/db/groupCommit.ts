import { setImmediate as endOfTurn, setTimeout as pause } from 'node:timers/promises';

export type Group<Entry, Result> = {
  /** Resolves with the entry's result when the entry is committed. */
  add(entry: Entry): Promise<Result>;
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

  const drain = async () => {
    do {
      const early_ms = next_at - performance.now();
      await (early_ms > 0 ? pause(early_ms) : endOfTurn());
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
    add: (entry) =>
      new Promise((resolve, reject) => {
        waiting.push({ entry, resolve, reject });
        writing ??= drain();
      }),
    waiting: () => waiting.length,
    flushed: async () => {
      await writing;
    },
  };
}
