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
  /** `onNotification` gets undefined when notifications may have been missed, which every (re)connection counts as. */
  listen(channel: Channel, onNotification: (payload: string | undefined) => void): Promise<void>;
};

/** `chartwire_live` refreshes open pages: within this time one notification is enough, or busy workers would send one per job. */
const live_ms = 300;

export function openNotifications(
  db: Pick<Database, 'system' | 'listen'>,
  onFailure: (error: unknown) => void,
): Notifications {
  type Pending = Map<string, { channel: Channel; payload: string }>;
  const pending: Pending = new Map();
  const live: Pending = new Map();
  const flush = async (collected: Pending) => {
    const channels = [...collected.values()].map(({ channel }) => channel);
    const payloads = [...collected.values()].map(({ payload }) => payload);
    collected.clear();
    try {
      await db.system.pooled`
        SELECT pg_notify(channel, payload) FROM unnest(${channels}::text[], ${payloads}::text[]) AS n (channel, payload)`;
    } catch (error) {
      onFailure(error);
    }
  };
  return {
    notify: (channel, payload) => {
      const collected = channel === 'chartwire_live' ? live : pending;
      if (collected.size === 0) {
        if (collected === live) setTimeout(flush, live_ms, live).unref();
        else setImmediate(flush, pending);
      }
      collected.set(`${channel} ${payload}`, { channel, payload });
    },
    listen: db.listen,
  };
}
