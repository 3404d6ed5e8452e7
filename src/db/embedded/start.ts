import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { StartFailure } from '../../errors.ts';
import { runnableBinaries } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import { codeOf, type Folders, openFolders } from './folders.ts';
import { type Postmaster, runningPostmaster, spawnPostmaster, stopPostmaster } from './postmaster.ts';
import { serverAccount } from './serverAccount.ts';
import { port, superuser } from './settings.ts';
import { socketFolder } from './socketFolder.ts';

export type EmbeddedServer = {
  /** The folder of the unix socket; the driver takes it as `host`. */
  host: string;
  port: number;
  user: string;
  password: string;
  /** True when the server was already running: left by a killed process, or started by another one. */
  adopted: boolean;
  /** False when the server has ended, by whatever hand. */
  running(): Promise<boolean>;
  stop(): Promise<void>;
};

export type EmbeddedOptions = {
  data_dir: string;
  log?: (line: string) => void;
  /** Server settings on top of ours. Tests turn fsync off with it; the service passes none. */
  settings?: Record<string, string>;
};

const ready_timeout_ms = 30_000;
const poll_ms = 40;

/** Runs the PostgreSQL of the npm packages on `<data_dir>/postgres`, or joins the one that already runs there. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const log = options.log ?? (() => {});
  const folders = await openFolders(options.data_dir);
  const account = await serverAccount(folders);
  const binaries = await runnableBinaries(account, folders);
  const password = await ensureCluster({ folders, account, binaries, log, sync: options.settings?.fsync !== 'off' });
  const own_host = await socketFolder(folders, account);
  const launch = () =>
    spawnPostmaster({ folders, account, binaries, host: own_host, settings: options.settings ?? {} });
  const { host, adopted } = await untilReady(folders, { host: own_host, port, user: superuser, password }, launch);
  const running = async () => (await runningPostmaster(folders)) !== undefined;
  return { host, port, user: superuser, password, adopted, running, stop: () => stopPostmaster(folders, host) };
}

type Address = { host: string; port: number; user: string; password: string };
type Ready = { host: string; adopted: boolean };

/**
 * Connects, and launches a server whenever none runs. A launch may fail because somebody else was faster (two starts
 * at once) or because backends of a killed postmaster have not ended yet: both pass, so both are tried again.
 */
async function untilReady(folders: Folders, own: Address, launch: () => Promise<Postmaster>): Promise<Ready> {
  const deadline = Date.now() + ready_timeout_ms;
  let launched: Postmaster | undefined;
  while (Date.now() < deadline) {
    const running = await runningPostmaster(folders);
    const host = running?.socket_folder ?? own.host;
    const problem = running === undefined ? 'not_ready' : await tryConnecting({ ...own, host });
    if (problem === undefined) return { host, adopted: running?.pid !== launched?.pid };
    if (problem === 'wrong_password') {
      throw new StartFailure(`The database does not accept the password in ${folders.password_file}.`);
    }
    if (launched?.ended()) {
      const reason = await launched.finalReason();
      if (reason !== 'taken')
        throw new StartFailure(`The database did not start (${reason}); see ${folders.log_file}.`);
      launched = undefined;
    }
    if (launched === undefined && running === undefined) launched = await launch();
    await sleep(poll_ms);
  }
  throw new StartFailure(
    `The database was not ready after ${ready_timeout_ms / 1000} seconds; see ${folders.log_file}.`,
  );
}

async function tryConnecting(address: Address): Promise<undefined | 'not_ready' | 'wrong_password'> {
  const client = new pg.Client({ ...address, database: 'postgres', connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return undefined;
  } catch (error) {
    return codeOf(error)?.startsWith('28') ? 'wrong_password' : 'not_ready';
  } finally {
    await client.end().catch(() => {});
  }
}
