/** Too much work is waiting already, or it waited too long. */
export class SlotsBusy extends Error {
  constructor() {
    super('All slots are in use.');
    this.name = 'SlotsBusy';
  }
}

export type FairSlots = {
  /** Runs `work` once the client gets a slot, which it holds until `work` ends. */
  run<T>(client_id: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
};

type Options = {
  total: number;
  /** More waiting work of one client is refused with SlotsBusy. */
  waiting_max?: number;
  /** Work that waited this long is refused with SlotsBusy. */
  wait_ms_max?: number;
};

type Waiting = { client_id: string; start: () => void };

/**
 * Divides a number of slots among clients. With n clients at work or waiting, each holds at most 1/(n + 1) of them, so
 * that the next client always finds a free one while there are fewer clients than slots. A freed slot goes to the client
 * that holds the fewest, and among these to the one that has waited longest.
 */
export function fairSlots({ total, waiting_max = Number.POSITIVE_INFINITY, wait_ms_max }: Options): FairSlots {
  const held = new Map<string, number>();
  const waiting: Waiting[] = [];
  const heldBy = (client_id: string) => held.get(client_id) ?? 0;
  const free = () => total - [...held.values()].reduce((sum, each) => sum + each, 0);
  const share = () => {
    const clients = new Set([...held.keys(), ...waiting.map((each) => each.client_id)]);
    return Math.max(1, Math.floor(total / (clients.size + 1)));
  };
  const startNext = () => {
    while (free() > 0) {
      const most = share();
      const entitled = waiting.filter((each) => heldBy(each.client_id) < most);
      const least = Math.min(...entitled.map((each) => heldBy(each.client_id)));
      const next = entitled.find((each) => heldBy(each.client_id) === least);
      if (!next) return;
      waiting.splice(waiting.indexOf(next), 1);
      held.set(next.client_id, heldBy(next.client_id) + 1);
      next.start();
    }
  };
  const acquire = (client_id: string, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      signal?.throwIfAborted();
      if (waiting.filter((each) => each.client_id === client_id).length >= waiting_max) throw new SlotsBusy();
      const leave = (error: unknown) => {
        const at = waiting.indexOf(entry);
        if (at === -1) return;
        waiting.splice(at, 1);
        settle(() => reject(error));
        startNext();
      };
      const timer = wait_ms_max === undefined ? undefined : setTimeout(() => leave(new SlotsBusy()), wait_ms_max);
      const onAbort = () => leave(signal?.reason);
      const settle = (done: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        done();
      };
      const entry: Waiting = { client_id, start: () => settle(resolve) };
      signal?.addEventListener('abort', onAbort);
      waiting.push(entry);
      startNext();
    });
  return {
    run: async (client_id, work, signal) => {
      await acquire(client_id, signal);
      try {
        return await work();
      } finally {
        const left = heldBy(client_id) - 1;
        if (left === 0) held.delete(client_id);
        else held.set(client_id, left);
        startNext();
      }
    },
  };
}
