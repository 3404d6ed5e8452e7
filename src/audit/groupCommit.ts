/** Entries per insert. */
const batch_max = 500;

/**
 * Group commit: entries that arrive while an insert is running are written together by the next one. A single entry does
 * not wait; under load hundreds share one synced commit. `add` resolves when the entry is committed.
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
    /** How many entries wait for the next insert. */
    waiting: () => waiting.length,
    /** Resolves when all added entries are written or have failed. */
    flushed: async (): Promise<void> => {
      await writing;
    },
  };
}
