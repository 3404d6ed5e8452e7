import pg from 'pg';
import { ConnectionError, translateError } from './errors.ts';
import type { Prepared, Row } from './statement.ts';

/** A connection on which statements are sent without waiting for the results of those before them. */
export type Pipeline = { send(statement: Prepared): Promise<pg.QueryResult<Row>>; close(): void };

export type Pipelines = {
  /** The least busy connection; undefined if all are held up by a slow statement, or if there are none. */
  pick(): Promise<Pipeline | undefined>;
  end(): Promise<void>;
  destroy(): void;
};

/** A statement that takes longer holds up those behind it: until it is done, its connection gets no others. */
const slow_ms = 20;

/** How long to wait after a failed attempt to connect before the next one, in milliseconds. It does not grow. */
export const reconnectPause = () => 100 + Math.random() * 200;

export function openPipelines(config: pg.ClientConfig, count: number): Pipelines {
  const slots = Array.from({ length: count }, () => openSlot({ ...config, pipeline: true }));
  let ended = false;
  return {
    pick: async () => {
      if (ended) throw new ConnectionError('CONNECTION_ENDED');
      const free = slots.filter((slot) => !slot.isHeldUp()).sort((a, b) => a.load() - b.load());
      return (free.find((slot) => slot.refusal() === undefined) ?? free[0])?.connected();
    },
    end: async () => {
      ended = true;
      await Promise.all(slots.map((slot) => slot.end()));
    },
    destroy: () => {
      for (const slot of slots) slot.destroy();
    },
  };
}

/** One connection of the set, opened when it is first needed and again after it was lost. */
function openSlot(config: pg.ClientConfig) {
  // In the order in which they were sent.
  const under_way = new Set<{ since: number }>();
  let waiting = 0;
  let client: pg.Client | undefined;
  let opening: Promise<Pipeline> | undefined;
  let refused: { error: Error; until: number } | undefined;
  const refusal = () => (refused && refused.until > Date.now() ? refused.error : undefined);

  const open = async (): Promise<Pipeline> => {
    const error = refusal();
    if (error) throw error;
    const opened = new pg.Client(config);
    client = opened;
    const forget = () => {
      if (client !== opened) return;
      client = undefined;
      opening = undefined;
    };
    // A lost connection emits an error, which ends the process if nobody listens. Its statements are rejected as well.
    opened.on('error', forget);
    opened.on('end', forget);
    try {
      await opened.connect();
    } catch (cause) {
      forget();
      refused = { error: translateError(cause as Error), until: Date.now() + reconnectPause() };
      throw refused.error;
    }
    refused = undefined;
    const send = (statement: Prepared) => track(under_way, opened, statement);
    const close = () => {
      forget();
      opened.end().catch(() => {});
    };
    return { send, close };
  };

  return {
    refusal,
    load: () => under_way.size + waiting,
    isHeldUp: () => {
      const [oldest] = under_way;
      return oldest !== undefined && performance.now() - oldest.since > slow_ms;
    },
    connected: async () => {
      if (opening === undefined) {
        const attempt = open();
        opening = attempt;
        attempt.catch(() => {
          if (opening === attempt) opening = undefined;
        });
      }
      waiting += 1;
      try {
        return await opening;
      } finally {
        waiting -= 1;
      }
    },
    end: async () => {
      await opening?.catch(() => {});
      await client?.end();
    },
    destroy: () => client?.connection.stream.destroy(),
  };
}

function track(under_way: Set<object>, client: pg.Client, statement: Prepared): Promise<pg.QueryResult<Row>> {
  const entry = { since: performance.now() };
  under_way.add(entry);
  return new Promise((resolve, reject) => {
    client.query<Row>(statement, (error, result) => {
      under_way.delete(entry);
      if (error) reject(translateError(error));
      else resolve(result);
    });
  });
}
