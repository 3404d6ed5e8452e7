import { setImmediate as endOfTurn, setTimeout as pause } from 'node:timers/promises';
import type { Fragment, Query } from '../../../sql/statement.ts';

/** Work of one tenant that one statement does for many requests at once. */
export type Batch<Entry, Result> = {
  /** Entries per statement. */
  max: number;
  /**
   * What `run` sends: a `read`; a `write`, which commits and may wait for locks, so that it runs on the pool; or the
   * statements of a `transaction`, which is one of the tenant and waits at most `batch_wait` for a lock.
   */
  kind: 'read' | 'write' | 'transaction';
  /** Returns one result per entry, in their order. The text of a statement must not depend on their number. */
  run(sql: Query, client_id: string, entries: readonly Entry[]): Promise<readonly Result[]>;
};

/** How long a batch waits for a row that another transaction holds. Usually that takes a millisecond. */
export const batch_wait = '100ms';

/** `expected`: how many entries, this one included, may come within a few milliseconds. The statement waits for them. */
export type Batches = <Entry, Result>(
  client_id: string,
  batch: Batch<Entry, Result>,
  entry: Entry,
  expected?: number,
) => Promise<Result>;

/**
 * Collects entries by batch and tenant. A statement sets one tenant, so tenants are never mixed, and each has one
 * statement of a batch in progress: a busy tenant waits behind its own work.
 */
export function createBatches(
  execute: <T>(client_id: string, kind: Batch<never, never>['kind'], work: (sql: Query) => Promise<T>) => Promise<T>,
): Batches {
  const groups = new Map<object, Map<string, Group<unknown, unknown>>>();
  return <Entry, Result>(client_id: string, batch: Batch<Entry, Result>, entry: Entry, expected?: number) => {
    const by_client = groups.get(batch) ?? new Map<string, Group<unknown, unknown>>();
    groups.set(batch, by_client);
    // The groups of a batch have its types: they are found by the batch itself.
    let group = by_client.get(client_id) as Group<Entry, Result> | undefined;
    if (!group) {
      group = groupCommit<Entry, Result>(
        (entries) => execute(client_id, batch.kind, (sql) => batch.run(sql, client_id, entries)),
        { batch_max: batch.max, onIdle: () => by_client.delete(client_id) },
      );
      by_client.set(client_id, group as Group<unknown, unknown>);
    }
    return group.add(entry, expected);
  };
}

/**
 * Answers a query for many requests in one statement. `select` is the query for one of them, which is the JSON object
 * `requested.request`; each result is its row. Without `LIMIT`, an EXISTS in it may become a scan of the whole table.
 */
export function readBatch<Request extends object, Row>(
  select: (sql: Query) => Fragment,
  { max = 100 } = {},
): Batch<Request, Row | undefined> {
  return {
    max,
    kind: 'read',
    run: async (sql, client_id, requests) => {
      const rows = await sql<{ position: number }[]>`
        WITH tenant AS MATERIALIZED (SELECT set_config('chartwire.client_id', ${client_id}, true) AS id)
        SELECT result.* FROM tenant CROSS JOIN LATERAL (
          SELECT requested.position, found.*
            FROM json_array_elements(${sql.json(requests)}::text::json) WITH ORDINALITY AS requested (request, position)
            CROSS JOIN LATERAL (${select(sql)}) AS found
           WHERE tenant.id IS NOT NULL OFFSET 0
        ) AS result`;
      // The caller names the columns it selected, as in `Database.read`.
      const by_position = new Map(rows.map((row) => [row.position, row as unknown as Row]));
      return requests.map((_, n) => by_position.get(n + 1));
    },
  };
}

/**
 * Whether a batch failed because of one of its entries: a constraint, a value, a trigger, a lock. Nothing was
 * committed, so each entry can be retried alone. A lost connection, a shutdown and a statement that took a minute are
 * not of this kind.
 */
export function isRefusedBatch(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^(2[0-9A-Z]|4[0-9A-Z]|54|55|P0)[0-9A-Z]{3}$/.test(code);
}

export type Group<Entry, Result> = {
  /**
   * Resolves with the entry's result when the entry is committed. If more entries are `expected`, this one included,
   * the statement waits for them: a millisecond for each, at most 20.
   */
  add(entry: Entry, expected?: number): Promise<Result>;
  /** How many entries wait for the next statement. */
  waiting(): number;
  /** Resolves when all added entries are written or have failed. */
  flushed(): Promise<void>;
};

type Options = {
  /** Entries per statement. */
  batch_max?: number;
  /** At least this long from one statement to the next, where nobody waits for the result. */
  interval_ms?: number;
  /** Called when nothing is left to write. */
  onIdle?: () => void;
};

/** The longest wait for expected entries. */
const wait_max_ms = 20;

/**
 * Group commit: entries of one turn of the event loop, and those that arrive while a statement is running, are written
 * together by the next one. A single entry does not wait; under load hundreds share one synced commit. `write` returns
 * one result per entry, in their order.
 */
export function groupCommit<Entry, Result = unknown>(
  write: (entries: readonly Entry[]) => Promise<readonly Result[]>,
  { batch_max = 500, interval_ms = 0, onIdle }: Options = {},
): Group<Entry, Result> {
  type Waiting = { entry: Entry; resolve: (result: Result) => void; reject: (error: unknown) => void };
  const waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let next_at = 0;
  let expected_now = 1;
  let onComplete = () => {};

  const complete = () => waiting.length >= Math.min(expected_now, batch_max);
  const gather = async () => {
    await endOfTurn();
    if (complete()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(expected_now, wait_max_ms));
      onComplete = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    onComplete = () => {};
  };

  const drain = async () => {
    do {
      const early_ms = next_at - performance.now();
      await (early_ms > 0 ? pause(early_ms) : gather());
      next_at = performance.now() + interval_ms;
      const batch = waiting.splice(0, batch_max);
      try {
        const results = await write(batch.map(({ entry }) => entry));
        // The array may be shorter where nobody reads the results.
        for (const [n, { resolve }] of batch.entries()) resolve(results[n] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    } while (waiting.length > 0);
    writing = undefined;
    onIdle?.();
  };

  return {
    add: (entry, expected = 1) =>
      new Promise((resolve, reject) => {
        waiting.push({ entry, resolve, reject });
        expected_now = expected;
        writing ??= drain();
        if (complete()) onComplete();
      }),
    waiting: () => waiting.length,
    flushed: async () => {
      await writing;
    },
  };
}
