import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { connect, type Sql } from '../sql/connect.ts';
import { startEmbedded } from '../src/platform/db/embedded/start.ts';
import { compare } from './compare.ts';

/**
 * Compares single statements on the pool, on pipelined connections and, if the path to its package is given, with
 * postgres.js, the previous driver: `node dist/bench/drivers.js /path/to/node_modules/postgres/src/index.js`.
 */
const statements = 800;
const concurrency = 32;
const connections = 10;
const rounds = 7;

type Task = (n: number) => PromiseLike<unknown>;

async function main(postgres_js_path: string | undefined): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const server = await startEmbedded({ data_dir });
  const { host, port, user, password } = server;
  const address = { host, port, user, password, database: 'postgres', ssl: false } as const;
  const pool = connect(address, { max: connections });
  const pipelined = connect(address, { max: connections, pipelined: 3 });
  try {
    await pool.unsafe(`CREATE TABLE bench_rows (id int PRIMARY KEY, doc json);
      INSERT INTO bench_rows SELECT n, json_build_object('id', n, 'text', repeat('x', 400)) FROM generate_series(1, 5000) n;
      CREATE TABLE bench_writes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text)`);
    await compareTasks('pipelined', tasks(pipelined), 'the rate of the pool', tasks(pool));
    if (postgres_js_path === undefined) return;
    const { default: postgres } = await import(pathToFileURL(postgres_js_path).href);
    const postgres_js = postgres({ ...address, max: connections });
    await compareTasks('pool', tasks(pool), 'the rate of postgres.js', tasks(postgres_js));
    await compareTasks('pipelined', tasks(pipelined), 'the rate of postgres.js', tasks(postgres_js));
    await postgres_js.end();
  } finally {
    await Promise.all([pool.end(), pipelined.end()]);
    await server.stop();
    await rm(data_dir, { recursive: true, force: true });
  }
}

function tasks(sql: Sql): Record<string, Task> {
  return {
    'one row': (n) => sql`SELECT id, doc::text FROM bench_rows WHERE id = ${(n % 5_000) + 1}`,
    'a page of 100': (n) =>
      sql`SELECT json_agg(doc)::text FROM bench_rows WHERE id BETWEEN ${n % 4_900} AND ${(n % 4_900) + 99}`,
    'a one-row insert': () => sql`INSERT INTO bench_writes (body) VALUES (${'m'.repeat(200)}) RETURNING id`,
  };
}

async function compareTasks(
  driver: string,
  measured: Record<string, Task>,
  baseline_name: string,
  baseline: Record<string, Task>,
): Promise<void> {
  for (const [name, task] of Object.entries(measured)) {
    const other = baseline[name] ?? task;
    await compare(`${name}, ${driver}`, () => rate(task), { name: baseline_name, measure: () => rate(other) }, rounds);
  }
}

/** Statements per second, with `concurrency` of them in progress at a time. */
async function rate(task: Task): Promise<number> {
  let left = statements;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let n = left--; n > 0; n = left--) await task(n);
    }),
  );
  return statements / ((performance.now() - start) / 1000);
}

await main(process.argv[2]);
