/** Entries that may wait for the insert that is on its way; and as many as one insert takes. */
const batch_max = 500;

/**
 * Writes entries in as few inserts as there is time for: while one is on its way, the entries that come gather for the
 * next. Alone, an entry waits for nothing; under load hundreds share a synced commit. Each is told when its own is in.
 */
export function groupCommit<Entry>(write: (entries: readonly Entry[]) => Promise<unknown>) {
  type Waiting = { entry: Entry; resolve: () => void; reject: (error: unknown) => void };
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;

  const drain = async () => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batch_max);
      try {
        await write(batch.map(({ entry }) => entry));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    writing = undefined;
  };

  return {
    add: (entry: Entry): Promise<void> =>
      new Promise((resolve, reject) => {
        waiting.push({ entry, resolve, reject });
        writing ??= drain();
      }),
    /** How many wait for the insert after the present one. */
    waiting: () => waiting.length,
    /** Resolves when everything that was added is written, or was refused. */
    settled: async (): Promise<void> => {
      await writing;
    },
  };
}
