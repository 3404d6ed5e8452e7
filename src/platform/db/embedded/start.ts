import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { StartFailure } from '../../../catalog/errors.ts';
import { runnableBinaries } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import { ensureFolders, type Folders, readErrorCode } from './folders.ts';
import { type Postmaster, runningPostmaster, spawnPostmaster, stopPostmaster } from './postmaster.ts';
import { reachableByAll, type ServerAccount, serverAccount } from './serverAccount.ts';
import { port, superuser } from './settings.ts';

export type EmbeddedServer = {
  /** The folder of the unix socket, used as `host` by the driver. */
  host: string;
  port: number;
  user: string;
  password: string;
  /** True if the server was already running, left by a killed process or started by another one. */
  adopted: boolean;
  /** False if the server has exited for any reason. */
  running(): Promise<boolean>;
  stop(): Promise<void>;
};

export type EmbeddedOptions = {
  data_dir: string;
  log?: (line: string) => void;
  /** Whether root may run the server as `nobody` if it cannot create a user of its own. Default: yes, with a warning. */
  allow_nobody?: boolean;
  /** Additional server settings. Used by tests to turn fsync off. */
  settings?: Record<string, string>;
};

const ready_timeout_ms = 30_000;
const poll_ms = 40;

/** Runs PostgreSQL from the npm packages on `<data_dir>/postgres`, or connects to the one that already runs there. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const log = options.log ?? (() => {});
  const folders = await ensureFolders(options.data_dir);
  const { allow_nobody = true } = options;
  const account = await serverAccount(folders, { allow_nobody, running: await isRunning(folders), log });
  const binaries = await runnableBinaries(account, folders);
  const password = await ensureCluster({ folders, account, binaries, log, sync: options.settings?.fsync !== 'off' });
  const own_host = await socketFolder(folders, account);
  const launch = () =>
    spawnPostmaster({ folders, account, binaries, host: own_host, settings: options.settings ?? {} });
  const { host, adopted } = await untilReady(folders, { host: own_host, port, user: superuser, password }, launch);
  return {
    host,
    port,
    user: superuser,
    password,
    adopted,
    running: () => isRunning(folders),
    stop: () => stopPostmaster(folders, host),
  };
}

async function isRunning(folders: Folders): Promise<boolean> {
  return (await runningPostmaster(folders)) !== undefined;
}

type Address = { host: string; port: number; user: string; password: string };
type Ready = { host: string; adopted: boolean };

/**
 * Connects, and starts a server if none is running. A start may fail because a concurrent start was faster, or because
 * backends of a killed postmaster are still exiting. Both are temporary, so both are retried.
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
    return readErrorCode(error)?.startsWith('28') ? 'wrong_password' : 'not_ready';
  } finally {
    await client.end().catch(() => {});
  }
}

/** The limit for socket paths is 103 bytes on macOS and 107 on Linux. */
const path_bytes_max = 103;

/** The cluster's own folder if its path is short enough, else a private folder in the temporary directory. */
export async function socketFolder(folders: Folders, account: ServerAccount): Promise<string> {
  if (fits(folders.cluster)) return folders.cluster;
  const key = createHash('sha256').update(folders.data_dir).digest('hex').slice(0, 16);
  for (const parent of [tmpdir(), '/tmp']) {
    const folder = join(parent, `chartwire-${key}`);
    if (fits(folder) && (!account.switched || (await reachableByAll(parent).catch(() => false)))) {
      await ensurePrivateFolder(folder, account);
      return folder;
    }
  }
  throw new StartFailure(
    `The path of ${folders.data_dir} is too long for a socket, and so is the path of the temporary folder. Set DATA_DIR or TMPDIR to a shorter path.`,
  );
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, `.s.PGSQL.${port}`)) <= path_bytes_max;
}

/** Another user could create this folder in /tmp to impersonate the server, so its owner is checked. */
async function ensurePrivateFolder(folder: string, account: ServerAccount): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error) => {
    if (readErrorCode(error) !== 'EEXIST') throw error;
  });
  const stats = await lstat(folder);
  const ours = stats.uid === account.uid || stats.uid === process.getuid?.();
  if (!stats.isDirectory() || !ours) {
    throw new StartFailure(`${folder} belongs to another user. Remove it, or set TMPDIR to your own folder.`);
  }
  await chmod(folder, 0o700);
  if (account.switched) await chown(folder, account.uid, account.gid);
}
