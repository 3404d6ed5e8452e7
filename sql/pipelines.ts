import type pg from 'pg';
import { Client, type ClientConfig, send } from './client.ts';
import { ConnectionError, translateError } from './errors.ts';
import type { Prepared, Row } from './statement.ts';

/** A connection on which statements are sent without waiting for the results of those before them. */
export type Pipeline = { send(statement: Prepared): Promise<pg.QueryResult<Row>>; close(): void };

export type Pipelines = {
  /** The least busy connection; undefined if all are blocked by a slow statement, or if there are none. */
  pick(): Promise<Pipeline | undefined>;
  end(): Promise<void>;
  destroy(): void;
};

/** A statement that takes longer blocks those behind it, so its connection gets no others until it is done. */
const slow_ms = 20;

/** The pause between attempts to connect, in milliseconds. It does not increase. */
export const reconnectPause = () => 100 + Math.random() * 200;

export function openPipelines(config: ClientConfig, count: number): Pipelines {
  const slots = Array.from({ length: count }, () => openSlot({ ...config, pipeline: true }));
  let ended = false;
  return {
    pick: async () => {
      if (ended) throw new ConnectionError('CONNECTION_ENDED');
      const free = slots.filter((slot) => !slot.isBlocked()).sort((a, b) => a.load() - b.load());
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

/** One connection, opened when it is first needed and reopened after it is lost. */
function openSlot(config: ClientConfig) {
  // In the order they were sent.
  const in_progress = new Set<{ since: number }>();
  let waiting = 0;
  let client: pg.Client | undefined;
  let opening: Promise<Pipeline> | undefined;
  let refused: { error: Error; until: number } | undefined;
  const refusal = () => (refused && refused.until > Date.now() ? refused.error : undefined);

  const open = async (): Promise<Pipeline> => {
    const error = refusal();
    if (error) throw error;
    const opened = new Client(config);
    client = opened;
    const forget = () => {
      if (client !== opened) return;
      client = undefined;
      opening = undefined;
    };
    // Without a listener, the error event of a lost connection would end the process. Its statements are rejected anyway.
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
    const send = (statement: Prepared) => track(in_progress, opened, statement);
    const close = () => {
      forget();
      opened.end().catch(() => {});
    };
    return { send, close };
  };

  return {
    refusal,
    load: () => in_progress.size + waiting,
    isBlocked: () => {
      const [oldest] = in_progress;
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

function track(in_progress: Set<object>, client: pg.Client, statement: Prepared): Promise<pg.QueryResult<Row>> {
  const entry = { since: performance.now() };
  in_progress.add(entry);
  return send(client, statement).finally(() => in_progress.delete(entry));
}
