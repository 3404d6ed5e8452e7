import type { Database } from './database.ts';

/**
 * Channels on which processes notify each other. A NOTIFY inside a transaction takes a lock on the whole database at
 * its commit and so serializes all writers; ours are sent after the commit, once for all of the same turn of the event
 * loop. A lost notification delays work by at most a second, because workers also poll, and lets limits
 * of other processes grant a little more.
 */
export type Channel =
  | 'chartwire_jobs'
  | 'chartwire_deliveries'
  | 'chartwire_access'
  | 'chartwire_live'
  | 'chartwire_operators'
  | 'chartwire_limits';

export type Notifications = {
  /**
   * The payload names the client whose jobs, deliveries or access have changed (empty: none or all of them), so that
   * dashboard pages of other clients are not notified. Of `chartwire_live`, it is a topic and the client; of
   * `chartwire_operators`, the operator whose access has changed.
   */
  notify(channel: Channel, payload: string): void;
  /**
   * The same within this process only: its workers do the work themselves, and those of other processes would look for
   * it in vain. What these cannot take, the others find at their next poll.
   */
  notifyHere(channel: Channel, payload: string): void;
  /** `onNotification` gets undefined when notifications may have been missed, which every (re)connection counts as. */
  listen(channel: Channel, onNotification: (payload: string | undefined) => void): Promise<void>;
};

type Pending = Map<string, { channel: Channel; payload: string }>;

/** `chartwire_live` refreshes open pages: within this time one notification is enough, or busy workers would send one per job. */
const live_ms = 300;

/** A client that sends one write after the other wakes the workers of other processes at most this often. */
const work_ms = 50;
const work_channels: ReadonlySet<Channel> = new Set(['chartwire_jobs', 'chartwire_deliveries']);

export function createNotifications(
  db: Pick<Database, 'system' | 'listen'>,
  onFailure: (error: unknown) => void,
): Notifications {
  const listeners = new Map<Channel, ((payload: string | undefined) => void)[]>();
  const send = async (notifications: readonly { channel: Channel; payload: string }[]) => {
    const channels = notifications.map(({ channel }) => channel);
    const payloads = notifications.map(({ payload }) => payload);
    try {
      await db.system.pooled`
        SELECT pg_notify(channel, payload) FROM unnest(${channels}::text[], ${payloads}::text[]) AS n (channel, payload)`;
    } catch (error) {
      onFailure(error);
    }
  };
  const take = (pending: Pending) => {
    const taken = [...pending.values()];
    pending.clear();
    return taken;
  };
  const here = collector((pending) => {
    setImmediate(() => {
      for (const { channel, payload } of take(pending)) for (const each of listeners.get(channel) ?? []) each(payload);
    });
  });
  const soon = collector((pending) => setImmediate(() => void send(take(pending))));
  const live = collector((pending) => setTimeout(() => void send(take(pending)), live_ms).unref());
  const recent = new Set<string>();
  const late = collector((pending) =>
    setTimeout(() => {
      for (const { channel, payload } of take(pending)) notifyWork(channel, payload);
    }, work_ms).unref(),
  );
  /** At once if the last one was long ago, otherwise with all others that come within the interval. */
  const notifyWork = (channel: Channel, payload: string) => {
    const key = `${channel} ${payload}`;
    if (recent.has(key)) return late(channel, payload);
    recent.add(key);
    setTimeout(() => recent.delete(key), work_ms).unref();
    soon(channel, payload);
  };
  return {
    notify: (channel, payload) => {
      if (channel === 'chartwire_live') return live(channel, payload);
      // Before later changes, which this process announces to its pages at once.
      if (channel === 'chartwire_operators') here(channel, payload);
      if (!work_channels.has(channel)) return soon(channel, payload);
      here(channel, payload);
      notifyWork(channel, payload);
    },
    notifyHere: here,
    listen: async (channel, onNotification) => {
      listeners.set(channel, [...(listeners.get(channel) ?? []), onNotification]);
      await db.listen(channel, onNotification);
    },
  };
}

/** Collects different notifications; `onFirst` arranges when they are taken. */
function collector(onFirst: (pending: Pending) => unknown): (channel: Channel, payload: string) => void {
  const pending: Pending = new Map();
  return (channel, payload) => {
    pending.set(`${channel} ${payload}`, { channel, payload });
    if (pending.size === 1) onFirst(pending);
  };
}
