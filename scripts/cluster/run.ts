/**
 * `npm run cluster`: the service against a PostgreSQL cluster with automatic failover, on one machine: three nodes with
 * etcd, Patroni and PostgreSQL in network namespaces, HAProxy, and several processes of the service. Nodes fail while
 * clients write; afterwards the processes of the service are restarted one after the other. The results are written to
 * docs/reference/cluster-run.md. Needs root.
 *
 *   --rounds N   how often each failure happens; default 1
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Sql } from '../../sql/connect.ts';
import { freePort } from '../freePort.ts';
import { root } from '../serviceProcess.ts';
import { checkInvariants, requireClean } from './invariants.ts';
import { type Load, startLoad } from './load.ts';
import { type Cluster, type Node, startCluster } from './patroni.ts';
import { asSuperuser, createOwner, startPostgres, toUrl } from './postgres.ts';
import { print, RunError, requirePrograms, runMain, until } from './programs.ts';
import { type Failure, reportPage, summarize, summary_start } from './report.ts';
import { restartRolling } from './rolling.ts';
import { openInstallation } from './service.ts';

const database = 'chartwire';
const programs = {
  postgres: 'postgresql-15',
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  ip: 'iproute2',
  setpriv: 'util-linux',
};
/** The promise: service is back within this time, without a manual step. */
const back_ms = 30_000;
const writes_before = 100;
const writers = { writers: 8, pause_ms: 500 };
/** What ends within this time after a failure was already in progress, and does not count as back. */
const in_progress_ms = 1_000;

/** What happens to the primary, and how its machine is repaired afterwards. */
const faults: { name: string; fail(primary: Node): Promise<void> | void; repair(node: Node): void }[] = [
  { name: 'Patroni and PostgreSQL killed', fail: (node) => node.kill(), repair: (node) => node.startPatroni() },
  { name: 'network cut', fail: (node) => node.cutNetwork(), repair: (node) => node.restoreNetwork() },
  { name: 'PostgreSQL killed', fail: (node) => node.killPostgres(), repair: () => {} },
];

await runMain(async () => {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '1' } } });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new RunError('--rounds must be a whole number greater than 0.');
  requirePrograms(programs);
  const folder = mkdtempSync(join(tmpdir(), 'chartwire-cluster-'));
  chmodSync(folder, 0o755);
  const emr = await startPostgres(join(folder, 'larkspur'));
  const cluster = await startCluster(folder);
  print('the cluster is complete');
  const installation = openInstallation(folder, {
    DATABASE_URL: toUrl(await createOwner(cluster.port, database)),
    LARKSPUR_DATABASE_URL: toUrl(await createOwner(emr.port, 'larkspur')),
    LARKSPUR_PORT: `${await freePort()}`,
    DRAIN_SECONDS: '5',
  });
  try {
    await installation.start('all');
    const api = [await installation.start('api'), await installation.start('api')];
    const workers = [await installation.start('worker'), await installation.start('worker')];
    print('the service is ready: 3 processes with the API, 3 with a worker');
    const sandbox = installation.sandbox();
    const load = startLoad(
      sandbox,
      api.map(({ url }) => url),
      writers,
    );
    const failures: Failure[] = [];
    for (let round = 1; round <= rounds; round++) {
      print(`round ${round} of ${rounds}`);
      for (const fault of faults) failures.push(await survive(cluster, load, fault));
    }
    await load.stop();
    const rolling = await restartRolling(folder, installation, [...api, ...workers], writers);
    const acknowledged = [...load.acknowledged, ...rolling.acknowledged];
    const check = (sql: Sql) => checkInvariants(sql, sandbox, acknowledged);
    const findings = await asSuperuser(cluster.port, check, database);
    requireClean(findings);
    const page = reportPage({ failures, rolling, findings, failed_requests: load.failures });
    writeFileSync(join(root, 'docs/reference/cluster-run.md'), page);
    print(`${summary_start}${summarize(failures, findings)}`);
    print('ok: written to docs/reference/cluster-run.md');
  } finally {
    await installation.stop();
    await cluster.stop();
    await emr.program.stop('SIGINT');
    rmSync(folder, { recursive: true, force: true });
  }
});

async function survive(cluster: Cluster, load: Load, fault: (typeof faults)[number]): Promise<Failure> {
  const before = load.acknowledged.length;
  await until('writes before the failure', () => load.acknowledged.length >= before + writes_before);
  const primary = await cluster.primary();
  const failed_at = Date.now();
  await fault.fail(primary);
  print(`${primary.name}: ${fault.name}`);
  const isBack = () => load.acknowledged.filter(({ at }) => at > failed_at + in_progress_ms).length >= 20;
  await until('writes are accepted again', isBack, 120_000);
  const downtime_ms = load.longestGap(failed_at);
  const finished_at = await until('a job finishes', () => firstFinished(cluster, new Date(failed_at + in_progress_ms)));
  const jobs_back_ms = finished_at.getTime() - failed_at;
  const next = await until('a primary', () => cluster.primary());
  print(`writes back after ${downtime_ms} ms, jobs after ${jobs_back_ms} ms, primary ${next.name}`);
  if (downtime_ms > back_ms) throw new RunError(`The service was back after ${downtime_ms} ms, not within ${back_ms}.`);
  fault.repair(primary);
  await cluster.untilComplete();
  print('the cluster is complete again');
  return { fault: fault.name, downtime_ms, jobs_back_ms, failed_over: next.name !== primary.name };
}

async function firstFinished(cluster: Cluster, after: Date): Promise<Date | undefined> {
  const read = (sql: Sql) =>
    sql<{ at: Date | null }[]>`SELECT min(finished_at) AS at FROM jobs WHERE finished_at > ${after}`;
  const [row] = await asSuperuser(cluster.port, read, database);
  return row?.at ?? undefined;
}
