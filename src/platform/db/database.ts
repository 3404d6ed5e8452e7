import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { DatabaseAddress } from '../../../sql/address.ts';
import { type ConnectOptions, connect as connectSql, type Sql, type Tx } from '../../../sql/connect.ts';
import { type OnNotification, openListener } from '../../../sql/listen.ts';
import type { Fragment, Query } from '../../../sql/statement.ts';
import { type Batches, batch_wait, createBatches, isRefusedBatch } from './batches.ts';
import { fairSlots } from './fairSlots.ts';
import { checkRole, type RoleAddresses, role_settings, service_role, system_role } from './roles.ts';

export type { DatabaseAddress } from '../../../sql/address.ts';
export { onCommit, type Sql, type Tx } from '../../../sql/connect.ts';
export type { Fragment, Query, Row, Statement } from '../../../sql/statement.ts';

/**
 * The connections to the database. The service role sees the rows of the tenant that its transaction names and no
 * others; the system role crosses tenants, but is granted only the columns by which work is claimed and callers are known.
 */
export type Database = {
  /** Rows of one tenant, several statements: BEGIN, set the tenant, work, COMMIT. */
  tenant<T>(client_id: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * The same for work without effects outside the database: it is repeated if the database rolled it back because of
   * other transactions, by a deadlock, a serialization failure or a lock timeout.
   */
  repeatable<T>(client_id: string, work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Rows of one tenant in one statement, three times the rate of the form above (7.3 against 2.4 thousand reads/s).
   * The tenant is set in a materialized CTE. The query refers to its result in a sub-select that OFFSET 0 keeps from
   * being flattened, so that no join order can read before the tenant is set.
   */
  read<Row>(client_id: string, query: (sql: Query) => Fragment): Promise<Row[]>;
  /** The same for reads that may be slow, such as searches: on a connection of the pool, where nothing waits behind them. */
  search<Row>(client_id: string, query: (sql: Query) => Fragment): Promise<Row[]>;
  /** Does the same for many requests of one tenant that arrive together, in one statement or transaction. */
  batched: Batches;
  /**
   * The same for work that can be repeated safely: if the batch fails because of one of its entries, which may be this
   * one, or an error in our own code, the entry is done in a transaction of its own.
   */
  batchedOrAlone: Batches;
  /**
   * One statement that writes rows of one tenant; its first CTE is `tenant`, from which every INSERT must select. Writes use
   * `pooled`: a commit waits for the disk, and on a pipelined connection all statements behind it would wait too.
   */
  service: Sql;
  system: Sql;
  /** As `system`, but its own connections: readiness and heartbeats do not wait for others, nor longer than seconds. */
  probes: Sql;
  /**
   * Throws a StartFailure unless the connections run as the two roles, and these have no more rights than they should.
   */
  checkRoles(): Promise<void>;
  listen(channel: string, onNotification: OnNotification): Promise<void>;
  close(): Promise<void>;
};

/** Few: statements on one connection do not wait for each other's results, and PostgreSQL runs one at a time on each. */
const pipelined = { service: 3, system: 2 };

export function openDatabase(addresses: RoleAddresses, pool: number): Database {
  const service = connect(addresses.service, {
    max: pool,
    pipelined: pipelined.service,
    settings: role_settings.service,
  });
  const system = connect(addresses.system, {
    max: Math.max(2, Math.ceil(pool / 3)),
    pipelined: pipelined.system,
    settings: role_settings.system,
  });
  const probes = connect(addresses.system, {
    max: 2,
    connect_timeout_ms: 5_000,
    settings: { ...role_settings.system, statement_timeout: '15s' },
  });
  const turns = fairSlots({ total: pool, per_client: 'all_but_one' });
  const listener = openListener(addresses.listen ?? addresses.system, application_name);
  const search = reading(service.pooled);
  // One round trip for all statements.
  const begin = <T>(client_id: string, settings: string, work: (tx: Tx) => Promise<T>) =>
    turns.run(client_id, () =>
      service.begin(
        `BEGIN; SELECT set_config('chartwire.client_id', ${pg.escapeLiteral(client_id)}, true)${settings}`,
        work,
      ),
    );
  const tenant: Database['tenant'] = (client_id, work) => begin(client_id, '', work);
  const repeatable: Database['repeatable'] = async (client_id, work) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await tenant(client_id, work);
      } catch (error) {
        if (attempt === attempts_max || !isConflict(error)) throw error;
        await pause(attempt * pause_ms * (0.5 + Math.random()));
      }
    }
  };
  const batched = createBatches((client_id, kind, work) => {
    if (kind === 'read') return work(service);
    if (kind === 'write') return turns.run(client_id, () => work(service.pooled));
    return begin(client_id, `, set_config('lock_timeout', '${batch_wait}', true)`, work);
  });
  return {
    service,
    system,
    probes,
    tenant,
    repeatable,
    read: reading(service),
    search: (client_id, query) => turns.run(client_id, () => search(client_id, query)),
    batched,
    batchedOrAlone: async (client_id, batch, entry, expected) => {
      try {
        return await batched(client_id, batch, entry, expected);
      } catch (error) {
        if (!isRefusedBatch(error) && hasCode(error)) throw error;
        const [result] = await repeatable(client_id, (tx) => batch.run(tx, client_id, [entry]));
        // A batch returns a result per entry.
        return result as Awaited<ReturnType<typeof batch.run>>[number];
      }
    },
    checkRoles: async () => {
      await checkRole(service, service_role);
      await checkRole(system, system_role);
    },
    listen: listener.listen,
    close: async () => {
      const pools = [service, system, probes];
      await Promise.all([...pools.map((pool) => pool.end({ timeout_ms: 5_000 })), listener.end()]);
    },
  };
}

/** How often a transaction is attempted that conflicts with others, and how long it waits after the first attempt. */
const attempts_max = 5;
const pause_ms = 20;

/** Whether the database rolled a transaction back because of others: serialization failure, deadlock, lock timeout. */
function isConflict(error: unknown): boolean {
  return ['40001', '40P01', '55P03'].includes(Object(error).code);
}

/** Errors of the database and of lost connections have one, those of our own code do not. */
function hasCode(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error;
}

/** Reads by single statements of `sql`; see `Database.read`. */
export function reading(sql: Query): Database['read'] {
  return async <Row>(client_id: string, query: (sql: Query) => Fragment) => {
    const rows = await sql`
      WITH tenant AS MATERIALIZED (SELECT set_config('chartwire.client_id', ${client_id}, true) AS id)
      SELECT result.* FROM tenant CROSS JOIN LATERAL (
        SELECT query.* FROM (${query(sql)}) AS query WHERE tenant.id IS NOT NULL OFFSET 0
      ) AS result`;
    // The caller names the columns it selected; PostgreSQL gives no types to check them against.
    return rows as unknown as Row[];
  };
}

/**
 * A value that the planner does not see. If it did, it would expect a plan for the value to be cheaper than a general one,
 * and plan the statement at every execution, which takes as long as to run it.
 */
export function unseen(
  sql: Query,
  value: string | number | boolean | null,
  type: 'uuid' | 'text' | 'int' | 'boolean' | 'date',
): Fragment {
  switch (type) {
    case 'uuid':
      return sql`(SELECT ${value}::uuid)`;
    case 'text':
      return sql`(SELECT ${value}::text)`;
    case 'int':
      return sql`(SELECT ${value}::int)`;
    case 'boolean':
      return sql`(SELECT ${value}::boolean)`;
    case 'date':
      return sql`(SELECT ${value}::text::date)`;
  }
}

const application_name = 'chartwire';

/** Connections on which ids are read as 32 hex digits. */
export function connect(address: DatabaseAddress, options: ConnectOptions): Sql {
  return connectSql(address, {
    application_name,
    ...options,
    parsers: { uuid: (text) => text.replaceAll('-', '') },
  });
}
