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
  /**
   * How much one client may hold. `share`: with n clients at work or waiting, 1/(n + 1) of the slots, so that the next
   * client finds a free one while there are fewer clients than slots. `all_but_one`: everything except the last free
   * slot, which is enough for work of a few milliseconds. A client that holds nothing may always take a free slot.
   */
  per_client: 'share' | 'all_but_one';
  /** More waiting work of one client is refused with SlotsBusy. */
  waiting_max?: number;
  /** Work that waited this long is refused with SlotsBusy. */
  wait_ms_max?: number;
};

type Client = {
  in_use: number;
  /** What waits for a slot, in order of arrival. */
  waiting: (() => void)[];
  /** Increases with every slot given to anyone: the client with the lowest number has gone longest without one. */
  last_turn: number;
};

/**
 * Divides a number of slots among clients. A free slot goes to the client that holds the fewest, and among these to the
 * one whose last turn is longest ago: a busy client waits behind its own work.
 */
export function fairSlots({
  total,
  per_client,
  waiting_max = Number.POSITIVE_INFINITY,
  wait_ms_max,
}: Options): FairSlots {
  /** The clients that hold slots or wait for one. */
  const clients = new Map<string, Client>();
  let free = total;
  let turn = 0;

  const mayStart = ({ in_use }: Client) => {
    if (in_use === 0) return free > 0;
    return per_client === 'share' ? free > 0 && in_use < Math.floor(total / (clients.size + 1)) : free > 1;
  };
  const startNext = () => {
    for (;;) {
      const entitled = [...clients.values()].filter((each) => each.waiting.length > 0 && mayStart(each));
      if (entitled.length === 0) return;
      const next = entitled.reduce((a, b) => ((b.in_use - a.in_use || b.last_turn - a.last_turn) < 0 ? b : a));
      free -= 1;
      next.in_use += 1;
      next.last_turn = turn++;
      next.waiting.shift()?.();
    }
  };
  const forgetIdle = (client_id: string, client: Client) => {
    if (client.in_use === 0 && client.waiting.length === 0) clients.delete(client_id);
  };
  const acquire = (client_id: string, client: Client, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const leave = (error: unknown) => {
        client.waiting.splice(client.waiting.indexOf(start), 1);
        forgetIdle(client_id, client);
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
      const start = () => settle(resolve);
      signal?.addEventListener('abort', onAbort);
      client.waiting.push(start);
      startNext();
    });

  return {
    run: async (client_id, work, signal) => {
      signal?.throwIfAborted();
      const client = clients.get(client_id) ?? { in_use: 0, waiting: [], last_turn: -1 };
      if (client.waiting.length >= waiting_max) throw new SlotsBusy();
      clients.set(client_id, client);
      await acquire(client_id, client, signal);
      try {
        return await work();
      } finally {
        free += 1;
        client.in_use -= 1;
        forgetIdle(client_id, client);
        startNext();
      }
    },
  };
}
