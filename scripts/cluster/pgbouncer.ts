/**
 * `npm run check:pgbouncer`: the service behind PgBouncer in transaction mode, with Debian's packages. Writes run while
 * PgBouncer is killed and started again; then the invariants are checked, and that tenants do not mix on its connections.
 */
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/platform/db/database.ts';
import { roleAddresses, throughPooler } from '../../src/platform/db/roles.ts';
import { freePort } from '../freePort.ts';
import type { Program } from '../serviceProcess.ts';
import { checkInvariants, requireClean } from './invariants.ts';
import { startLoad } from './load.ts';
import {
  asSuperuser,
  createFile,
  createFolder,
  createOwner,
  ownerAddress,
  passwords,
  startPostgres,
  toUrl,
} from './postgres.ts';
import { print, RunError, requirePrograms, run, runMain, startSystemProgram, until } from './programs.ts';
import { openInstallation } from './service.ts';

const database = 'chartwire';
const kills = 2;
const writes_between = 60;
/** Fewer connections to the server than the service opens, so that transactions of all roles and tenants share them. */
const pool_size = 4;
const tenants_reads = 2_000;

await runMain(async () => {
  requirePrograms({ postgres: 'postgresql-15', pgbouncer: 'pgbouncer', setpriv: 'util-linux' });
  const folder = mkdtempSync(join(tmpdir(), 'chartwire-pgbouncer-'));
  chmodSync(folder, 0o755);
  const postgres = await startPostgres(join(folder, 'postgres'));
  const port = await freePort();
  const installation = openInstallation(folder, {
    DATABASE_URL: toUrl(ownerAddress(port, database)),
    DATABASE_LISTEN_URL: toUrl(await createOwner(postgres.port, database)),
    DATABASE_PREPARE: 'off',
    LEASE_SECONDS: '3',
    LARKSPUR_DATABASE_URL: toUrl(await createOwner(postgres.port, 'larkspur')),
    LARKSPUR_PORT: `${await freePort()}`,
  });
  let bouncer = await startBouncer(join(folder, 'pgbouncer'), port, postgres.port);
  try {
    print(run(['pgbouncer', '--version']).split('\n')[0] ?? '');
    // `all` runs Larkspur; the writes go to a process of each role.
    await installation.start('all');
    const api = await installation.start('api');
    await installation.start('worker');
    const load = startLoad(installation.sandbox(), [api.url], { writers: 6, pause_ms: 50 });
    for (let kill = 1; kill <= kills; kill++) {
      await until('writes', () => load.acknowledged.length >= kill * writes_between);
      await bouncer.stop('SIGKILL');
      const killed_at = Date.now();
      bouncer = await startBouncer(join(folder, 'pgbouncer'), port, postgres.port);
      await until('writes after the kill', () => load.acknowledged.some(({ at }) => at > killed_at));
      print(`PgBouncer killed and started; longest time without a write ${load.longestGap(killed_at)} ms`);
    }
    await checkTenants(port, postgres.port);
    await load.stop();
    print(`failed requests, all repeated: ${JSON.stringify(Object.fromEntries(load.failures))}`);
    const findings = await asSuperuser(
      postgres.port,
      (sql) => checkInvariants(sql, installation.sandbox(), load.acknowledged),
      database,
    );
    requireClean(findings);
    print('ok');
  } finally {
    await installation.stop();
    await bouncer.stop();
    await postgres.program.stop('SIGINT');
    rmSync(folder, { recursive: true, force: true });
  }
});

/** PgBouncer reads the roles' passwords from the server, so that they need not be listed. */
async function startBouncer(folder: string, port: number, server_port: number): Promise<Program> {
  createFolder(folder);
  const users = join(folder, 'users.txt');
  createFile(users, `"postgres" "${passwords.postgres}"\n`);
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: folder,
    pool_mode: 'transaction',
    default_pool_size: pool_size,
    auth_type: 'scram-sha-256',
    auth_file: users,
    auth_user: 'postgres',
    auth_query: 'SELECT usename, passwd FROM pg_shadow WHERE usename = $1',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const ini = `[databases]\n* = host=127.0.0.1 port=${server_port}\n\n[pgbouncer]\n${lines.join('\n')}\n`;
  createFile(join(folder, 'pgbouncer.ini'), ini);
  return startSystemProgram(['pgbouncer', join(folder, 'pgbouncer.ini')], {
    log_file: join(folder, 'log'),
    as_postgres: true,
  });
}

/**
 * Reads as two tenants at once, by single statements and by transactions: each must see its own rows, and none without
 * a tenant may see any.
 */
async function checkTenants(port: number, server_port: number): Promise<void> {
  const direct = roleAddresses(ownerAddress(server_port, database));
  const db = openDatabase(throughPooler(direct, ownerAddress(port, database), false), 8);
  try {
    const [client] = await asSuperuser(
      server_port,
      (sql) => sql<{ id: string }[]>`SELECT client_id AS id FROM jobs`,
      database,
    );
    const tenants = [client?.id ?? '', randomUUID()];
    const seen = { own: 0, other: 0, none: 0 };
    const read = async (n: number) => {
      const tenant = tenants[n % 2] ?? '';
      const visible = await (n % 3 === 0
        ? db.tenant(tenant, async (tx) => tx<{ id: string }[]>`SELECT client_id::text AS id FROM jobs LIMIT 5`)
        : db.read<{ id: string }>(tenant, (sql) => sql`SELECT client_id::text AS id FROM jobs LIMIT 5`));
      for (const { id } of visible) seen[id === tenant ? 'own' : 'other'] += 1;
      // The tenant ends with its transaction; this one has none.
      if (n % 5 === 0) seen.none += (await db.service`SELECT FROM jobs LIMIT 1`).length;
    };
    for (let n = 0; n < tenants_reads; n += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => read(n + k)));
    print(`rows read by ${tenants_reads} reads of two tenants: ${JSON.stringify(seen)}`);
    if (seen.own === 0 || seen.other > 0 || seen.none > 0) throw new RunError('A tenant saw rows of another one.');
  } finally {
    await db.close();
  }
}
