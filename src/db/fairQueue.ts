/** Limits how much runs at once, and serves those who wait in turn by client, not in the order of arrival. */
export type FairQueue = { run<T>(client_id: string, work: () => Promise<T>): Promise<T> };

/**
 * A client that sends many requests waits behind its own ones: when a place becomes free, the client that waited longest
 * since its last turn gets it. No client holds the last place unless it holds no other.
 */
export function openFairQueue(places: number): FairQueue {
  const held = new Map<string, number>();
  // Iterated in the order of turns: a client that was served is moved to the end.
  const waiting = new Map<string, (() => void)[]>();
  let total = 0;

  const mayStart = (client_id: string) => {
    const own = held.get(client_id) ?? 0;
    return total < places - 1 || (total < places && own === 0);
  };
  const start = (client_id: string) => {
    total += 1;
    held.set(client_id, (held.get(client_id) ?? 0) + 1);
  };
  const serveNext = () => {
    for (const [client_id, queue] of waiting) {
      if (!mayStart(client_id)) continue;
      const next = queue.shift();
      waiting.delete(client_id);
      if (queue.length > 0) waiting.set(client_id, queue);
      start(client_id);
      next?.();
      return;
    }
  };
  const end = (client_id: string) => {
    total -= 1;
    const own = (held.get(client_id) ?? 1) - 1;
    if (own === 0) held.delete(client_id);
    else held.set(client_id, own);
    serveNext();
  };

  return {
    run: async (client_id, work) => {
      if (mayStart(client_id) && !waiting.has(client_id)) start(client_id);
      else {
        await new Promise<void>((resolve) => {
          const queue = waiting.get(client_id);
          if (queue) queue.push(resolve);
          else waiting.set(client_id, [resolve]);
        });
      }
      try {
        return await work();
      } finally {
        end(client_id);
      }
    },
  };
}
