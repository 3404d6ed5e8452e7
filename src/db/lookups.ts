/**
 * Answers to "who is this?", kept in memory because every request asks. Any change to a client or an account rings
 * a bell on which every process drops all it kept: such changes are rare, and a revoked token dies within a second.
 */
export type Lookups = {
  find<T>(key: string, load: () => Promise<T | undefined>): Promise<T | undefined>;
  clear(): void;
};

/** Should rings be lost without the connection noticing, this is how long a kept answer lives at most. */
const kept_ms = 30_000;
const entries_max = 20_000;

export function openLookups(): Lookups {
  let entries = new Map<string, { value: unknown; until: number }>();
  return {
    find: async <T>(key: string, load: () => Promise<T | undefined>) => {
      const entry = entries.get(key);
      // A key names one kind of look-up, so what was kept under it is what its load returns.
      if (entry && entry.until > Date.now()) return entry.value as T;
      const generation = entries;
      const value = await load();
      // Misses are not kept: they cost the guesser, not us. Nor is what was read before a bell rang.
      if (value === undefined || generation !== entries) return value;
      if (entries.size >= entries_max) entries.clear();
      entries.set(key, { value, until: Date.now() + kept_ms });
      return value;
    },
    clear: () => {
      entries = new Map();
    },
  };
}
