/**
 * A cache of the clients and accounts that authenticate requests. Any change to a client or an account notifies every
 * process, which then drops its whole cache: such changes are rare, and a revoked token is rejected within a second.
 */
export type Lookups = {
  /** What `load` returned for this key, of at most 30 seconds ago. Every kind has keys and a type of its own. */
  find<T>(kind: LookupKind, key: string, load: () => Promise<T | undefined>): Promise<T | undefined>;
  clear(): void;
};

/** By what a client or an account is found. */
export type LookupKind = 'client_credentials' | 'client_id' | 'client_public_id' | 'access_token';

/** The longest life of an entry, in case notifications are lost without the connection noticing. */
const cached_ms = 30_000;
const entries_max = 20_000;

export function createLookups(): Lookups {
  let entries = new Map<string, { value: unknown; until: number }>();
  return {
    find: async <T>(kind: LookupKind, key: string, load: () => Promise<T | undefined>) => {
      // Keys come from headers; no kind has a blank, so that the first one ends it, whatever the key contains.
      const place = `${kind} ${key}`;
      const entry = entries.get(place);
      // An entry belongs to one kind, so the cached value has the type that `load` returns.
      if (entry && entry.until > Date.now()) return entry.value as T;
      const generation = entries;
      const value = await load();
      // Misses are not cached, nor what was read before the cache was cleared.
      if (value === undefined || generation !== entries) return value;
      if (entries.size >= entries_max) entries.clear();
      entries.set(place, { value, until: Date.now() + cached_ms });
      return value;
    },
    clear: () => {
      entries = new Map();
    },
  };
}
