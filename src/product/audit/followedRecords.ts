/**
 * The records that this process stored, until a later record of it names them and is part of the chain itself. Only
 * records whose commit is known are named: a number per record would have a gap for every transaction that was rolled
 * back.
 */
export type FollowedRecords = {
  /** The records that the new record `id` names. */
  follow(id: string): string[];
  /** To be called after the commit of a record. */
  confirm(id: string): void;
  /**
   * Looks after the records that name others. If one is gone, because it was rolled back or deleted, another one will
   * name them: of several records that were deleted, each is missed. `find` returns those that exist.
   */
  settle(find: (ids: readonly string[]) => Promise<{ id: string; sealed: boolean }[]>): Promise<void>;
};

/** Bounds the size of a record. Under load, each names about one. */
const ids_max = 100;
/** How many records are looked after, if they do not become part of the chain. */
const naming_max = 10_000;
/** How many are looked up at once. */
const lookup_max = 1_000;
/** After this long, a record is usually part of the chain. */
const seal_ms = 2_000;

export function openFollowedRecords(now: () => number = () => performance.now()): FollowedRecords {
  const committed: string[] = [];
  /** By the record that names them, in the order of time. */
  const named = new Map<string, { ids: string[]; at: number }>();
  return {
    follow: (id) => {
      const ids = committed.splice(0, ids_max);
      if (ids.length > 0) named.set(id, { ids, at: now() });
      const [oldest] = named.keys();
      if (named.size > naming_max && oldest !== undefined) named.delete(oldest);
      return ids;
    },
    confirm: (id) => {
      committed.push(id);
    },
    settle: async (find) => {
      const due = [...named].filter(([, { at }]) => now() - at >= seal_ms).slice(0, lookup_max);
      if (due.length === 0) return;
      const found = new Map((await find(due.map(([id]) => id))).map(({ id, sealed }) => [id, sealed]));
      for (const [id, { ids }] of due) {
        const sealed = found.get(id);
        if (sealed === false || !named.delete(id)) continue;
        if (sealed === undefined) committed.push(...ids);
      }
    },
  };
}
