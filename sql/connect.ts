import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { DatabaseAddress } from './address.ts';
import { Client, type ClientConfig, isFromStandby, send } from './client.ts';
import { ConnectionError, translateError } from './errors.ts';
import { openPipelines } from './pipelines.ts';
import { createQuery, type Naming, type Prepared, type Query, type Row, type Rows, type Run } from './statement.ts';
import { type oid, type Parse, parsersFor } from './values.ts';

export type ConnectOptions = {
  /** Size of the pool. */
  max: number;
  /** Connections for single statements, in addition to the pool. Without them single statements use the pool. */
  pipelined?: number;
  connect_timeout_ms?: number;
  application_name?: string;
  /** Session settings, as for SET. */
  settings?: Record<string, string>;
  parsers?: Partial<Record<keyof typeof oid, Parse>>;
  naming?: Naming;
};

/**
 * Statements inside a transaction. They run one after the other; those that are sent without waiting for the results of
 * earlier ones share a round trip.
 */
export type Tx = Query;

export interface Sql extends Query {
  /** Runs single statements on the pool: for those that may be slow or wait for locks and would block a pipeline. */
  readonly pooled: Query;
  /** Runs `work` in a transaction. A failed statement fails the transaction even if `work` catches the error. */
  begin<T>(work: (tx: Tx) => T | PromiseLike<T>): Promise<T>;
  /**
   * `start` replaces BEGIN and may also set local settings. It shares a round trip with the first statements, which must
   * fail if it did not take place.
   */
  begin<T>(start: string, work: (tx: Tx) => T | PromiseLike<T>): Promise<T>;
  /** Waits for running work, then closes all connections; after the timeout it closes them regardless. */
  end(options?: { timeout_ms: number }): Promise<void>;
}

/** What runs after the commit of a transaction. */
const after_commit = new WeakMap<Query, (() => void)[]>();

/** Calls `run`, which must not throw, after the transaction was committed. Ignored for single statements. */
export function onCommit(tx: Query, run: () => void): void {
  after_commit.get(tx)?.push(run);
}

/**
 * Settings of every session. The parsers rely on the time zone. Compiling a statement takes longer than running one of
 * ours, and up to PostgreSQL 17 the server would compile all that scan a table although `enable_seqscan` is off.
 */
export const session_settings = { TimeZone: 'UTC', jit: 'off' };

const connect_timeout_ms = 10_000;
const idle_timeout_ms = 60_000;

/** Opens connections to a database, each when it is first needed. */
export function connect(address: DatabaseAddress, options: ConnectOptions): Sql {
  const config = clientConfig(address, options);
  const pool = openPool({ ...config, pipeline: true }, options.max);
  const pipelines = openPipelines(config, options.pipelined ?? 0);
  const fromColumn = options.naming?.fromColumn;
  const sent = address.pooler?.prepare === false ? withoutName : (statement: Prepared) => statement;
  const finish = (result: pg.QueryResult<Row>) => toRows(result, fromColumn);

  const runPooled: Run = async (statement) => {
    for (let attempt = 1; ; attempt++) {
      const client = await pool.acquire();
      try {
        const rows = finish(await send(client, sent(statement)));
        client.release();
        return rows;
      } catch (error) {
        const stale = isStalePlan(error);
        client.release(stale || !isFromServer(error));
        if (!stale || attempt > 1) throw error;
      }
    }
  };
  const run: Run = async (statement) => {
    const client = await pipelines.pick();
    if (client === undefined) return runPooled(statement);
    try {
      return finish(await client.send(sent(statement)));
    } catch (error) {
      if (isStalePlan(error) || isFromStandby(error)) client.close();
      if (!isStalePlan(error)) throw error;
      return runPooled(statement);
    }
  };

  const begin = async <T>(start: string | undefined, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> => {
    const client = await pool.acquire();
    const transaction = track((statement) => send(client, sent(statement)).then(finish));
    try {
      if (start === undefined) await send(client, { text: 'BEGIN', values: [] });
      else transaction.run({ text: start, values: [] }).catch(() => {});
      const tx = createQuery(transaction.run, options.naming);
      const callbacks: (() => void)[] = [];
      after_commit.set(tx, callbacks);
      const result = await work(tx);
      await transaction.close();
      const { command } = await send(client, { text: 'COMMIT', values: [] });
      if (command !== 'COMMIT') throw new Error('The transaction was rolled back by the database.');
      client.release();
      for (const run of callbacks) run();
      return result;
    } catch (thrown) {
      const first = await transaction.close().then(
        () => thrown,
        (failure: unknown) => failure,
      );
      const error = isConsequence(thrown) ? first : thrown;
      const undone = await send(client, { text: 'ROLLBACK', values: [] }).then(
        () => true,
        () => false,
      );
      client.release(!undone || isStalePlan(error) || isFromStandby(error));
      throw error;
    }
  };

  const query = createQuery(run, options.naming);
  return Object.assign(query, {
    pooled: createQuery(runPooled, options.naming),
    begin: <T>(
      start: string | ((tx: Tx) => T | PromiseLike<T>),
      work: (tx: Tx) => T | PromiseLike<T> = start as (tx: Tx) => T | PromiseLike<T>,
    ) => begin(typeof start === 'string' ? start : undefined, work),
    end: async (limit?: { timeout_ms: number }) => {
      const timer = limit && setTimeout(() => [pool, pipelines].map((each) => each.destroy()), limit.timeout_ms);
      await Promise.all([pool.end(), pipelines.end()]);
      clearTimeout(timer);
    },
  });
}

export function clientConfig(
  address: DatabaseAddress,
  options: Omit<ConnectOptions, 'max' | 'pipelined' | 'naming'>,
): ClientConfig {
  const { host, port, user, password, database } = address;
  return {
    host,
    port,
    user,
    password,
    database,
    ssl: address.ssl === false ? false : verifiedTls(address),
    application_name: options.application_name,
    // PgBouncer refuses connections with options. Behind it, the settings belong to the roles (src/platform/db/roles.ts).
    ...(address.pooler
      ? { behind_pooler: true }
      : { options: startupOptions({ ...session_settings, ...options.settings }) }),
    connectionTimeoutMillis: options.connect_timeout_ms ?? connect_timeout_ms,
    // Detects a peer that disappeared without closing its socket.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: parsersFor(options.parsers),
  };
}

function startupOptions(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

/** `host` is what the certificate is checked against: for an IP address, node-postgres would leave it out. */
function verifiedTls({ host, ssl_root_cert }: DatabaseAddress): pg.ClientConfig['ssl'] {
  return { rejectUnauthorized: true, host, ...(ssl_root_cert ? { ca: readFileSync(ssl_root_cert, 'utf8') } : {}) };
}

type Pool = {
  acquire(): Promise<pg.PoolClient>;
  end(): Promise<void>;
  destroy(): void;
};

function openPool(config: ClientConfig, max: number): Pool {
  // The pool does not get the config: its connect timeout would also limit the wait for a free connection.
  class Configured extends Client {
    constructor() {
      super(config);
    }
  }
  const pool = new pg.Pool({
    max,
    // A pool of one is used as a session, whose locks and settings must survive idle time.
    idleTimeoutMillis: max === 1 ? 0 : idle_timeout_ms,
    Client: Configured,
  });
  const clients = new Set<pg.Client>();
  const waiting = new Set<(error: Error) => void>();
  // Without these listeners, a lost connection would end the process. The error reaches the user of the connection.
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    clients.add(client);
    client.on('error', () => {});
  });
  pool.on('remove', (client) => clients.delete(client));
  return {
    acquire: () =>
      new Promise((resolve, reject) => {
        if (pool.ending) return reject(new ConnectionError('CONNECTION_ENDED'));
        waiting.add(reject);
        pool.connect((error, client) => {
          const expected = waiting.delete(reject);
          if (client && expected) resolve(client);
          else if (client) client.release();
          else reject(translateError(error ?? new Error('No connection was opened.')));
        });
      }),
    end: async () => {
      const ended = pool.end();
      // When the pool ends, it never answers pending requests for a connection.
      for (const reject of waiting) reject(new ConnectionError('CONNECTION_ENDED'));
      waiting.clear();
      await ended;
    },
    destroy: () => {
      for (const client of clients) client.connection.stream.destroy();
    },
  };
}

function withoutName({ text, values }: Prepared): Prepared {
  return { text, values };
}

/** Runs statements, and none after `close`, which waits for them and rejects if any of them failed. */
function track(run: Run): { run: Run; close(): Promise<void> } {
  let closed = false;
  let failure: { error: unknown } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return {
    run: (statement) => {
      if (closed) return Promise.reject(new ConnectionError('CONNECTION_CLOSED'));
      const result = run(statement);
      // Results arrive in the order of the statements, so that the first failure is the cause of the others.
      last = result.catch((error: unknown) => {
        failure ??= { error };
      });
      return result;
    },
    close: async () => {
      closed = true;
      await last;
      if (failure) throw failure.error;
    },
  };
}

function toRows(result: pg.QueryResult<Row>, fromColumn?: (column: string) => string): Rows<Row[]> {
  // Text with several statements has several results; none of our callers reads them.
  const { rows = [], rowCount = 0 } = Array.isArray(result) ? (result.at(-1) ?? {}) : result;
  const named = fromColumn ? rows.map((row: Row) => rename(row, fromColumn)) : rows;
  // Not enumerable, so that the rows still equal a plain array.
  return Object.defineProperty(named, 'count', { value: rowCount ?? 0 });
}

function rename(row: Row, fromColumn: (column: string) => string): Row {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [fromColumn(column), value]));
}

/** Statements that were sent together with one that failed are refused, and may be the first error that `work` sees. */
function isConsequence(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '25P02';
}

function isFromServer(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !/^(08|57P0)/.test(error.code ?? '') && !isFromStandby(error);
}

/** A migration invalidated a prepared statement, or a proxy lost it. Nothing was executed, so it can be sent again. */
function isStalePlan(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  return error.code === '26000' || (error.code === '0A000' && error.routine === 'RevalidateCachedQuery');
}
