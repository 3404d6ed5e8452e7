import type { Sql } from './database.ts';

/**
 * Channels by which processes nudge each other. A NOTIFY inside a transaction takes a lock on the whole database at
 * its commit and so serializes all writers; we ring after the commit, once for all rings of the same turn of the
 * event loop. A lost ring costs at most a second: whoever waits also looks by itself.
 */
export type Channel = 'chartwire_jobs' | 'chartwire_deliveries' | 'chartwire_access' | 'chartwire_live';

export type Bell = {
  ring(channel: Channel, word?: string): void;
  /** `heard` gets the word that was rung, or undefined when rings may have been missed: (re)connecting counts as one. */
  hear(channel: Channel, heard: (word: string | undefined) => void): Promise<void>;
};

/** `chartwire_live` is for people who look on: rings of so long count as one, or busy workers would ring at every job. */
const live_ms = 300;

export function openBell(sql: Sql, failed: (error: unknown) => void): Bell {
  const pending = new Map<string, { channel: Channel; word: string }>();
  const live = new Map<string, { channel: Channel; word: string }>();
  const flush = async (rung: typeof pending) => {
    const rings = [...rung.values()];
    rung.clear();
    try {
      await Promise.all(rings.map(({ channel, word }) => sql`SELECT pg_notify(${channel}, ${word})`));
    } catch (error) {
      failed(error);
    }
  };
  return {
    ring: (channel, word = '') => {
      const gathered = channel === 'chartwire_live' ? live : pending;
      if (gathered.size === 0) {
        if (gathered === live) setTimeout(flush, live_ms, live).unref();
        else setImmediate(flush, pending);
      }
      gathered.set(`${channel} ${word}`, { channel, word });
    },
    hear: async (channel, heard) => {
      await sql.listen(channel, heard, () => heard(undefined));
    },
  };
}
