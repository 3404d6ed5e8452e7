import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { connect, type Sql } from '../sql/connect.ts';
import { startEmbedded } from '../src/db/embedded/start.ts';
import { compare } from './compare.ts';

/**
 * Compares single statements over the pool, over pipelined connections and, if the path of its package is given, over
 * postgres.js, which we used before: `node dist/bench/drivers.js /path/to/node_modules/postgres/src/index.js`.
 */
const statements = 800;
const at_once = 32;
const connections = 10;
const rounds = 7;

type Work = (n: number) => PromiseLike<unknown>;

async function main(other: string | undefined): Promise<void> {
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
    await compareWork('pipelined', works(pipelined), 'the rate of the pool', works(pool));
    if (other === undefined) return;
    const { default: postgres } = await import(pathToFileURL(other).href);
    const before = postgres({ ...address, max: connections });
    await compareWork('pool', works(pool), 'the rate of postgres.js', works(before));
    await compareWork('pipelined', works(pipelined), 'the rate of postgres.js', works(before));
    await before.end();
  } finally {
    await Promise.all([pool.end(), pipelined.end()]);
    await server.stop();
    await rm(data_dir, { recursive: true, force: true });
  }
}

function works(sql: Sql): Record<string, Work> {
  return {
    'one row': (n) => sql`SELECT id, doc::text FROM bench_rows WHERE id = ${(n % 5_000) + 1}`,
    'a page of 100': (n) =>
      sql`SELECT json_agg(doc)::text FROM bench_rows WHERE id BETWEEN ${n % 4_900} AND ${(n % 4_900) + 99}`,
    'a one-row insert': () => sql`INSERT INTO bench_writes (body) VALUES (${'m'.repeat(200)}) RETURNING id`,
  };
}

async function compareWork(
  called: string,
  ours: Record<string, Work>,
  others: string,
  theirs: Record<string, Work>,
): Promise<void> {
  for (const [what, work] of Object.entries(ours)) {
    const their = theirs[what] ?? work;
    await compare(`${what}, ${called}`, () => rate(work), { called: others, measure: () => rate(their) }, rounds);
  }
}

/** Statements per second with `at_once` under way. */
async function rate(work: Work): Promise<number> {
  let left = statements;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: at_once }, async () => {
      for (let n = left--; n > 0; n = left--) await work(n);
    }),
  );
  return statements / ((performance.now() - start) / 1000);
}

await main(process.argv[2]);
