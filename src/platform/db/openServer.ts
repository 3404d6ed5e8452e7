import { AddressError, type DatabaseAddress, parseAddress } from '../../../sql/address.ts';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { connect } from './database.ts';
import { type EmbeddedServer, startEmbedded } from './embedded/start.ts';
import { databaseFailure, migrate } from './migrate.ts';
import { type RoleAddresses, throughPooler } from './roles.ts';

/** The PostgreSQL server of an installation: the one of DATABASE_URL, or the embedded one. */
export type DatabaseServer = {
  /** The owner of the tables, for migrations and administration only. */
  owner: DatabaseAddress;
  roles: RoleAddresses;
  /** A second database on the same server, created if it is missing. */
  sibling(suffix: string): Promise<DatabaseAddress>;
  /** Stops the embedded server unless another process uses it; the server of DATABASE_URL is left alone. */
  release(): Promise<void>;
};

/** Finds or starts the server and applies the migrations. */
export async function openServer(config: Config, log: (line: string) => void): Promise<DatabaseServer> {
  const server = config.database_url ? await external(config, config.database_url) : await openEmbedded(config, log);
  const { owner, pooler } = server;
  try {
    if (!config.database_url) await ensureDatabase(owner);
    const direct = await migrate(owner, { pooled: pooler !== undefined });
    const roles = pooler ? throughPooler(direct, pooler, config.database_prepare) : direct;
    if (pooler) await checkPooler(roles.system);
    return { ...server, roles, sibling: (suffix) => sibling(owner, suffix) };
  } catch (error) {
    await server.release();
    throw databaseFailure(server.name, owner, error);
  }
}

type Started = Pick<DatabaseServer, 'owner' | 'release'> & {
  /** What error messages call it. */
  name: string;
  pooler?: DatabaseAddress;
};

async function external({ database_listen_url }: Config, database_url: string): Promise<Started> {
  const address = parseDatabaseUrl('DATABASE_URL', database_url);
  const release = async () => {};
  if (!database_listen_url) return { name: 'DATABASE_URL', owner: address, release };
  const name = 'DATABASE_LISTEN_URL';
  return { name, owner: parseDatabaseUrl(name, database_listen_url), pooler: address, release };
}

async function checkPooler(address: DatabaseAddress): Promise<void> {
  const sql = connect(address, { max: 1 });
  try {
    await sql`SELECT 1`;
  } catch (error) {
    throw databaseFailure('DATABASE_URL', address, error);
  } finally {
    await sql.end({ timeout_ms: 1_000 });
  }
}

/** Finds or starts the embedded server, without changing its databases. */
export async function openEmbedded(config: Config, log: (line: string) => void): Promise<Started> {
  const start = () => startEmbedded({ data_dir: config.data_dir, log, allow_nobody: config.allow_nobody });
  const server = await start();
  const watch = keepRunning(server, start, log);
  const { host, port, user, password } = server;
  const owner: DatabaseAddress = { host, port, user, password, database: 'chartwire', ssl: false };
  return {
    name: 'The embedded database',
    owner,
    release: async () => {
      await watch.end();
      if (!(await hasOtherUsers(owner))) await server.stop();
    },
  };
}

/** Restarts the embedded server if it exits while we run (killed, out of memory): nothing else supervises it. */
function keepRunning(server: EmbeddedServer, start: () => Promise<EmbeddedServer>, log: (line: string) => void) {
  let ended = false;
  let checking: Promise<void> = Promise.resolve();
  const check = async () => {
    if (ended || (await server.running())) return;
    log('The embedded database has stopped; starting it again.');
    await start();
  };
  const timer = setInterval(() => {
    checking = checking
      .then(check)
      .catch((error: Error) => log(`The embedded database does not start: ${error.message}`));
  }, watch_ms);
  timer.unref();
  return {
    end: async () => {
      ended = true;
      clearInterval(timer);
      await checking;
    },
  };
}

const watch_ms = 1_000;

async function sibling(address: DatabaseAddress, suffix: string): Promise<DatabaseAddress> {
  const second = { ...address, database: `${address.database}_${suffix}` };
  await ensureDatabase(second);
  return second;
}

/** Called after this process closed its own connections: any that are left belong to another process. */
async function hasOtherUsers(address: DatabaseAddress): Promise<boolean> {
  const sql = connect({ ...address, database: 'postgres' }, { max: 1, connect_timeout_ms: 3_000 });
  try {
    const [row] = await sql<{ others: number }[]>`SELECT count(*) AS others FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    return (row?.others ?? 0) > 0;
  } catch {
    // It does not respond, so nobody is using it and it can only be stopped.
    return false;
  } finally {
    await sql.end({ timeout_ms: 1_000 });
  }
}

/** Creates the database of an address if it does not exist. */
export async function ensureDatabase(address: DatabaseAddress): Promise<void> {
  const sql = connect(address, { max: 1 });
  try {
    await sql`SELECT 1`;
  } catch (error) {
    if ((error as { code?: string }).code !== '3D000') throw error;
    const maintenance = connect({ ...address, database: 'postgres' }, { max: 1 });
    try {
      await maintenance`CREATE DATABASE ${maintenance(address.database)}`;
    } catch (created) {
      // Another process may have created it at the same moment.
      if (!['42P04', '23505'].includes((created as { code?: string }).code ?? '')) throw created;
    } finally {
      await maintenance.end({ timeout_ms: 5_000 });
    }
  } finally {
    await sql.end({ timeout_ms: 5_000 });
  }
}

/** Reads the database URL of a setting. */
export function parseDatabaseUrl(setting: string, text: string): DatabaseAddress {
  try {
    return parseAddress(text);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new StartFailure(`${setting} ${error.message}.`, { cause: error });
  }
}
