import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { Pool } from 'undici';
import { loadConfig } from '../src/config.ts';
import { connect } from '../src/db/database.ts';
import { openServer } from '../src/db/openServer.ts';
import { startService } from '../src/main.ts';

/**
 * What the service costs over the bare framework and database doing the same work, as ratios within one run: absolute
 * numbers of a noisy machine say little. Rounds alternate, so that both sides see the same noise.
 */
const rounds = 5;
const requests = 1_500;
const at_once = 32;

type Contender = {
  base: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: () => string;
};

async function main(): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const limits = { RATE_LIMIT: '1000000', RATE_BURST: '1000000', LOG_LEVEL: 'silent' };
  const config = loadConfig({ ...limits, DATA_DIR: data_dir, PORT: '0', LARKSPUR_PORT: '0' });
  // Laid by a whole product, measured on an API process alone: a worker would compete for the cores.
  const whole = await startService(config, { role: 'all', print: () => {} });
  await whole.close();
  const service = await startService(config, { role: 'api', print: () => {} });
  const server = await openServer(config, () => {});
  const sql = connect(server.address, { max: config.database_pool });
  await sql`CREATE TABLE bench_calls (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body json)`;
  const bare = Fastify();
  bare.post('/write', async (request) => {
    const [row] =
      await sql`INSERT INTO bench_calls (body) VALUES (${JSON.stringify(request.body)}::text::json) RETURNING id`;
    return { success: true, job_id: row?.id };
  });
  bare.get('/read', async (_request, reply) => {
    const [row] = await sql`SELECT json_build_object('patients', json_agg(doc))::text AS body
      FROM (SELECT doc FROM patients ORDER BY last_folded, first_folded, id LIMIT 100) AS page`;
    return reply.type('application/json').send(row?.body);
  });
  const bare_base = await bare.listen({ port: 0, host: '127.0.0.1' });

  const { sandbox } = whole;
  if (!sandbox) throw new Error('The bench needs the sandbox.');
  const { client_id, client_secret, access_token, example } = sandbox;
  const headers = { client_id, client_secret, access_token, 'content-type': 'application/json' };
  const { pharmacy_ehr_id: _pharmacy, ...fields } = example;
  const mrns = (await sql<{ mrn: string }[]>`SELECT mrn FROM patients`).map((row) => row.mrn);
  let turn = 0;
  // Each for another patient: writes of one patient wait for each other by design.
  const body = () => {
    const patient_mrn = mrns[turn++ % mrns.length];
    return JSON.stringify({ ...fields, patient_mrn, reason: 'bench', caller: 'bench', message: 'm'.repeat(200) });
  };

  const write = { method: 'POST', headers, body } as const;
  const read = { method: 'GET', headers } as const;
  await compare(
    'accept a write',
    { ...write, base: service.base_url, path: '/v1/telephone-encounters' },
    { ...write, base: bare_base, path: '/write' },
  );
  await compare(
    'read a page of 100 patients',
    { ...read, base: service.base_url, path: '/v1/patients' },
    { ...read, base: bare_base, path: '/read' },
  );

  await bare.close();
  await sql.end();
  await service.close();
  await server.release();
  await rm(data_dir, { recursive: true, force: true });
}

async function compare(what: string, ours: Contender, bare: Contender): Promise<void> {
  const ratios: number[] = [];
  await Promise.all([rate(ours), rate(bare)]);
  for (let round = 0; round < rounds; round++) ratios.push((await rate(ours)) / (await rate(bare)));
  ratios.sort((a, b) => a - b);
  const show = (n: number | undefined) => (n ?? 0).toFixed(2);
  process.stdout.write(
    `${what}: ${show(ratios[Math.floor(rounds / 2)])} of the bare rate (median of ${rounds}; ${show(ratios[0])} to ${show(ratios.at(-1))})\n`,
  );
}

/** Requests per second with `at_once` under way. */
async function rate({ base, path, method, headers, body }: Contender): Promise<number> {
  const pool = new Pool(base, { connections: at_once });
  let left = requests;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: at_once }, async () => {
      while (left-- > 0) {
        const answer = await pool.request({ path, method, headers, body: body?.() ?? null });
        await answer.body.dump();
        if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}.`);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await pool.close();
  return requests / seconds;
}

await main();
