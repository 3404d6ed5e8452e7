import type { Config } from '../config.ts';
import { parseDatabaseUrl } from './address.ts';
import { connect, type DatabaseAddress } from './database.ts';
import { type EmbeddedServer, startEmbedded } from './embedded/start.ts';
import { ensureDatabase } from './ensureDatabase.ts';
import { databaseFailure, migrate } from './migrate.ts';

/** The PostgreSQL server of an installation: one that is named, or the embedded one. */
export type DatabaseServer = {
  address: DatabaseAddress;
  /** A second database on the same server, made if need be. */
  beside(suffix: string): Promise<DatabaseAddress>;
  /** The embedded server ends with the last process that uses it; one that is named is not ours to end. */
  release(): Promise<void>;
};

/** Finds or starts the server and brings the service's database to its newest shape. */
export async function openServer(config: Config, log: (line: string) => void): Promise<DatabaseServer> {
  const server = config.database_url ? named(config.database_url) : await embedded(config, log);
  try {
    if (!config.database_url) await ensureDatabase(server.address);
    await migrate(server.address);
  } catch (error) {
    await server.release();
    throw databaseFailure(config.database_url ? 'DATABASE_URL' : 'The embedded database', server.address, error);
  }
  return server;
}

function named(url: string): DatabaseServer {
  const address = parseDatabaseUrl('DATABASE_URL', url);
  return { address, beside: (suffix) => beside(address, suffix), release: async () => {} };
}

async function embedded(config: Config, log: (line: string) => void): Promise<DatabaseServer> {
  const start = () => startEmbedded({ data_dir: config.data_dir, log });
  const server = await start();
  const watch = keepRunning(server, start, log);
  const { host, port, user, password } = server;
  const address: DatabaseAddress = { host, port, user, password, database: 'chartwire', ssl: false };
  return {
    address,
    beside: (suffix) => beside(address, suffix),
    release: async () => {
      await watch.end();
      if (!(await hasOtherUsers(address))) await server.stop();
    },
  };
}

/** Nobody else looks after the embedded server: should it end while we run (killed, out of memory), it is started again. */
function keepRunning(server: EmbeddedServer, start: () => Promise<EmbeddedServer>, log: (line: string) => void) {
  let ended = false;
  let looking: Promise<void> = Promise.resolve();
  const look = async () => {
    if (ended || (await server.running())) return;
    log('The embedded database has ended; starting it again.');
    await start();
  };
  const timer = setInterval(() => {
    looking = looking.then(look).catch((error: Error) => log(`The embedded database does not start: ${error.message}`));
  }, watch_ms);
  timer.unref();
  return {
    end: async () => {
      ended = true;
      clearInterval(timer);
      await looking;
    },
  };
}

const watch_ms = 1_000;

async function beside(address: DatabaseAddress, suffix: string): Promise<DatabaseAddress> {
  const second = { ...address, database: `${address.database}_${suffix}` };
  await ensureDatabase(second);
  return second;
}

/** Asked after this process closed its own connections: whoever is still there is another process. */
async function hasOtherUsers(address: DatabaseAddress): Promise<boolean> {
  const sql = connect({ ...address, database: 'postgres' }, { max: 1, connect_timeout_ms: 3_000 });
  try {
    const [row] = await sql<{ others: number }[]>`SELECT count(*) AS others FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    return (row?.others ?? 0) > 0;
  } catch {
    // It does not answer: nobody is using it, and stopping it is all that is left to do.
    return false;
  } finally {
    await sql.end({ timeout_ms: 1_000 });
  }
}
