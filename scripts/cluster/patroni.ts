import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../freePort.ts';
import type { Program } from '../serviceProcess.ts';
import { createFile, createFolder, passwords } from './postgres.ts';
import { postgres_programs, RunError, run, startSystemProgram, until } from './programs.ts';

/** One machine of the cluster: a network namespace with etcd, Patroni and PostgreSQL. */
export type Node = {
  name: string;
  ip: string;
  /** Starts Patroni, which starts PostgreSQL. */
  startPatroni(): void;
  /** kill -9 of Patroni and of PostgreSQL. */
  kill(): Promise<void>;
  /** kill -9 of PostgreSQL only. */
  killPostgres(): void;
  /** Takes the machine off the network, or puts it back. */
  cutNetwork(): void;
  restoreNetwork(): void;
};

export type Cluster = {
  nodes: readonly Node[];
  /** HAProxy's port on this machine, which leads to the primary. */
  port: number;
  primary(): Promise<Node>;
  /** Waits until one node is the primary, all others follow it, and one of them synchronously. */
  untilComplete(): Promise<void>;
  stop(): Promise<void>;
};

const bridge = 'chartwire0';
const network = '10.77.12';
const node_count = 3;

/**
 * The shortest lease of the primary that Patroni allows is 20 s. `loop_wait` and twice `retry_timeout` must fit into it.
 * In strict mode a primary without a synchronous standby accepts no writes, rather than some that a failover would lose.
 */
const dcs = {
  ttl: 20,
  loop_wait: 3,
  retry_timeout: 5,
  synchronous_mode: true,
  synchronous_mode_strict: true,
  // If PostgreSQL does not start again within this time, a standby takes over.
  master_start_timeout: 10,
  postgresql: {
    use_pg_rewind: true,
    parameters: {
      synchronous_commit: 'on',
      // How long the other standby waits before it connects to the new primary, which accepts no writes without it.
      wal_retrieve_retry_interval: '1s',
      wal_log_hints: 'on',
      max_connections: 150,
      shared_buffers: '32MB',
    },
  },
};

/** Starts three nodes and HAProxy in front of them. */
export async function startCluster(folder: string): Promise<Cluster> {
  removeNetwork();
  createNetwork();
  const programs: Program[] = [];
  const nodes = Array.from({ length: node_count }, (_, n) => createNode(folder, n + 1, programs));
  const port = await freePort();
  const stop = async () => {
    // PostgreSQL and its data are no longer needed, so nothing is stopped in order.
    await Promise.all(programs.map((program) => program.stop('SIGKILL')));
    for (const { name } of nodes) for (const pid of listPids(name)) process.kill(pid, 'SIGKILL');
    removeNetwork();
  };
  try {
    for (const node of nodes) node.startPatroni();
    programs.push(startProxy(folder, port, nodes));
    const cluster = { nodes, port, stop, primary: () => findPrimary(nodes), untilComplete: () => untilComplete(nodes) };
    await cluster.untilComplete();
    return cluster;
  } catch (error) {
    await stop();
    throw error;
  }
}

function createNode(cluster_folder: string, number: number, programs: Program[]): Node {
  const name = `chartwire-node${number}`;
  const ip = toIp(number);
  const folder = join(cluster_folder, name);
  const link = `cwnode${number}`;
  createFolder(folder);
  run(['ip', 'netns', 'add', name]);
  run(['ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name]);
  run(['ip', 'link', 'set', link, 'master', bridge, 'up']);
  const inside = ['ip', '-n', name];
  run([...inside, 'addr', 'add', `${ip}/24`, 'dev', 'eth0']);
  for (const device of ['eth0', 'lo']) run([...inside, 'link', 'set', device, 'up']);
  programs.push(startEtcd(folder, name, number));
  createFile(join(folder, 'patroni.yml'), JSON.stringify(patroniSettings(folder, name, number)));
  let patroni: Program | undefined;
  const postmaster = () => Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
  return {
    name,
    ip,
    startPatroni: () => {
      patroni = startSystemProgram(['patroni', join(folder, 'patroni.yml')], {
        log_file: join(folder, 'patroni.log'),
        namespace: name,
        as_postgres: true,
      });
      programs.push(patroni);
    },
    kill: async () => {
      const pid = postmaster();
      await patroni?.stop('SIGKILL');
      process.kill(pid, 'SIGKILL');
    },
    killPostgres: () => void process.kill(postmaster(), 'SIGKILL'),
    cutNetwork: () => void run(['ip', 'link', 'set', link, 'down']),
    restoreNetwork: () => void run(['ip', 'link', 'set', link, 'up']),
  };
}

function startEtcd(folder: string, name: string, number: number): Program {
  const data = join(folder, 'etcd');
  createFolder(data);
  const peers = Array.from({ length: node_count }, (_, n) => `chartwire-node${n + 1}=http://${toIp(n + 1)}:2380`);
  const settings = {
    name,
    'data-dir': data,
    'listen-peer-urls': `http://${toIp(number)}:2380`,
    'initial-advertise-peer-urls': `http://${toIp(number)}:2380`,
    'listen-client-urls': `http://${toIp(number)}:2379`,
    'advertise-client-urls': `http://${toIp(number)}:2379`,
    'initial-cluster': peers.join(','),
    'enable-v2': 'true',
    // Three times the defaults: a busy machine must not look like a failed one.
    'heartbeat-interval': '300',
    'election-timeout': '3000',
  };
  const args = Object.entries(settings).map(([option, value]) => `--${option}=${value}`);
  return startSystemProgram(['etcd', ...args], {
    log_file: join(folder, 'etcd.log'),
    namespace: name,
    as_postgres: true,
  });
}

function patroniSettings(folder: string, name: string, number: number) {
  const ip = toIp(number);
  return {
    scope: 'chartwire',
    name,
    restapi: { listen: `${ip}:8008`, connect_address: `${ip}:8008` },
    // By etcd's older API: with the newer one, Patroni before 3.0.3 overwrites the lock of the new primary when the old
    // one is back on the network, and what was written in between is lost.
    etcd: { hosts: Array.from({ length: node_count }, (_, n) => `${toIp(n + 1)}:2379`) },
    bootstrap: { dcs, initdb: [{ encoding: 'UTF8' }, 'data-checksums'] },
    postgresql: {
      listen: `${ip}:5432`,
      connect_address: `${ip}:5432`,
      data_dir: join(folder, 'data'),
      bin_dir: postgres_programs,
      pgpass: join(folder, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password: passwords.postgres },
        replication: { username: 'replicator', password: passwords.replication },
      },
      parameters: { unix_socket_directories: folder, password_encryption: 'scram-sha-256' },
      pg_hba: [
        'local all all scram-sha-256',
        `host all all ${network}.0/24 scram-sha-256`,
        `host replication replicator ${network}.0/24 scram-sha-256`,
      ],
    },
  };
}

/** Sessions end as soon as their node is no longer the primary: no connection stays on a demoted one. */
function startProxy(folder: string, port: number, nodes: readonly Node[]): Program {
  const servers = nodes.map(({ name, ip }) => `  server ${name} ${ip}:5432 check port 8008`);
  const file = join(folder, 'haproxy.cfg');
  const lines = [
    ...['defaults', '  mode tcp', '  timeout connect 2s', '  timeout client 1h', '  timeout server 1h'],
    ...['  timeout check 2s', 'listen primary', `  bind 127.0.0.1:${port}`, '  option httpchk GET /primary'],
    ...['  http-check expect status 200', '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions'],
    ...servers,
  ];
  createFile(file, `${lines.join('\n')}\n`);
  return startSystemProgram(['/usr/sbin/haproxy', '-db', '-f', file], {
    log_file: join(folder, 'haproxy.log'),
    as_postgres: true,
  });
}

type Member = { name: string; role: string; state: string; timeline: number };

async function findPrimary(nodes: readonly Node[]): Promise<Node> {
  const answers = await Promise.all(nodes.map(async (node) => ((await isPrimary(node)) ? node : undefined)));
  const [node, second] = answers.filter((each) => each !== undefined);
  if (!node || second) throw new RunError(`${answers.filter(Boolean).length} nodes say that they are the primary.`);
  return node;
}

async function isPrimary({ ip }: Node): Promise<boolean> {
  const response = await fetch(`http://${ip}:8008/primary`, { signal: AbortSignal.timeout(2_000) }).catch(
    () => undefined,
  );
  await response?.body?.cancel();
  return response?.status === 200;
}

async function untilComplete(nodes: readonly Node[]): Promise<void> {
  await until(
    'the cluster is complete',
    async () => {
      const primary = await findPrimary(nodes);
      const response = await fetch(`http://${primary.ip}:8008/cluster`, { signal: AbortSignal.timeout(2_000) });
      const { members } = (await response.json()) as { members: Member[] };
      const [leader] = members.filter(({ role }) => role === 'leader');
      const followers = members.filter(({ role }) => role !== 'leader');
      const synchronous = members.some(({ role }) => role === 'sync_standby');
      const same_timeline = members.every((each) => each.timeline === leader?.timeline);
      return synchronous && same_timeline && followers.length === nodes.length - 1;
    },
    180_000,
  );
}

function toIp(number: number): string {
  return `${network}.${10 + number}`;
}

function createNetwork(): void {
  run(['ip', 'link', 'add', bridge, 'type', 'bridge']);
  run(['ip', 'addr', 'add', `${network}.1/24`, 'dev', bridge]);
  run(['ip', 'link', 'set', bridge, 'up']);
}

/** Also removes what an interrupted run has left. */
function removeNetwork(): void {
  for (let number = 1; number <= node_count; number++) {
    if (run(['ip', 'netns', 'list']).includes(`chartwire-node${number}`)) {
      for (const pid of listPids(`chartwire-node${number}`)) process.kill(pid, 'SIGKILL');
      run(['ip', 'netns', 'del', `chartwire-node${number}`]);
    }
  }
  if (run(['ip', '-brief', 'link']).includes(`${bridge} `)) run(['ip', 'link', 'del', bridge]);
}

/** The processes in a node's namespace: PostgreSQL outlives a killed Patroni. */
function listPids(namespace: string): number[] {
  return run(['ip', 'netns', 'pids', namespace]).split('\n').filter(Boolean).map(Number);
}
