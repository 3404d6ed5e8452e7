import Fastify, { type FastifyInstance } from 'fastify';
import { connect, type Sql } from '../src/db/database.ts';
import { openServer } from '../src/db/openServer.ts';
import { cpuTime_ms } from './cpuTime.ts';
import { measureRate, type Request } from './measureRate.ts';
import { median, type Row, report } from './report.ts';
import { startApi } from './startApi.ts';

type Comparison = {
  work: string;
  goal: number | undefined;
  in_flight: number;
  path: string;
  minimal_path: string;
} & Pick<Request, 'method' | 'body'>;

/** Compares the service with a minimal server that does the same work with the same framework and database. */
export async function compareRequests(
  only: string | undefined,
  rounds = 5,
): Promise<{ rows: Row[]; postgres_version: string; memory_mb: number }> {
  const { config, service, headers, example, close } = await startApi();
  const memory_mb = process.memoryUsage().rss / 2 ** 20;
  const server = await openServer(config, () => {});
  const sql = connect(server.owner, { max: config.database_pool });
  const patients = await sql<{ id: string; mrn: string }[]>`SELECT id, mrn FROM patients WHERE mrn IS NOT NULL`;
  const minimal = await createMinimalServer(sql);
  try {
    const minimal_url = await minimal.listen({ port: 0, host: '127.0.0.1' });
    const { pharmacy_ehr_id: _pharmacy, ...fields } = example;
    let turn = 0;
    // A different patient each time: writes for one patient run one after the other.
    const body = () => {
      const patient_mrn = patients[turn++ % patients.length]?.mrn;
      return JSON.stringify({ ...fields, patient_mrn, reason: 'bench', caller: 'bench', message: 'm'.repeat(200) });
    };
    const write = { method: 'POST', body, path: '/v1/telephone-encounters', minimal_path: '/write' } as const;
    const mrn = example.patient_mrn;
    const comparisons: Comparison[] = [
      { work: 'accept a write, 32 in flight', goal: 1, in_flight: 32, ...write },
      { work: 'accept a write, alone', goal: undefined, in_flight: 1, ...write },
      {
        work: 'a page of 100 patients',
        goal: 0.85,
        in_flight: 32,
        method: 'GET',
        path: '/v1/patients',
        minimal_path: '/read',
      },
      {
        work: 'one patient by MRN',
        goal: 0.8,
        in_flight: 32,
        method: 'GET',
        path: `/v1/patients?mrn=${mrn}`,
        minimal_path: `/read?mrn=${mrn}`,
      },
    ];
    const rows: Row[] = [];
    for (const comparison of comparisons.filter(({ work }) => only === undefined || work.includes(only))) {
      const { work, goal, in_flight, method, path, minimal_path } = comparison;
      const request = { method, headers, in_flight, ...(comparison.body && { body: comparison.body }) };
      const measure = async (base: string, path: string) => {
        const before = await cpuTime_ms(config.data_dir);
        const { rate, requests, p50_ms } = await measureRate({ ...request, base, path });
        const after = await cpuTime_ms(config.data_dir);
        return {
          rate,
          p50_ms,
          node_ms: (after.node - before.node) / requests,
          postgres_ms: (after.postgres - before.postgres) / requests,
        };
      };
      await measure(service.base_url, path);
      await measure(minimal_url, minimal_path);
      const ours: Awaited<ReturnType<typeof measure>>[] = [];
      const theirs: typeof ours = [];
      for (let round = 0; round < rounds; round++) {
        ours.push(await measure(service.base_url, path));
        theirs.push(await measure(minimal_url, minimal_path));
      }
      const ratio = median(ours.map(({ rate }, n) => rate / (theirs[n]?.rate ?? Number.NaN)));
      const mid = (of: typeof ours, key: keyof (typeof ours)[number]) => median(of.map((each) => each[key])).toFixed(2);
      const cpu = (of: typeof ours) => `${mid(of, 'node_ms')} + ${mid(of, 'postgres_ms')} ms`;
      rows.push(
        report({
          work,
          figure: `${ratio.toFixed(2)} × a minimal server`,
          ratio,
          goal: goal === undefined ? 'no slower than before' : `≥ ${goal}`,
          detail: `p50 ${mid(ours, 'p50_ms')} and ${mid(theirs, 'p50_ms')} ms; CPU per request, Node + PostgreSQL: ${cpu(ours)} and ${cpu(theirs)}`,
        }),
      );
    }
    const [version] = await sql<{ server_version: string }[]>`SHOW server_version`;
    return { rows, postgres_version: version?.server_version ?? '', memory_mb };
  } finally {
    await minimal.close();
    await sql.end();
    await server.release();
    await close();
  }
}

/** Inserts a row per write and returns a page of the same rows, or one of them, per read. */
async function createMinimalServer(sql: Sql): Promise<FastifyInstance> {
  await sql`CREATE TABLE bench_calls (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body json)`;
  const server = Fastify();
  server.post('/write', async (request) => {
    const [row] =
      await sql`INSERT INTO bench_calls (body) VALUES (${JSON.stringify(request.body)}::text::json) RETURNING id`;
    return { success: true, job_id: row?.id };
  });
  server.get<{ Querystring: { mrn?: string } }>('/read', async (request, reply) => {
    const { mrn } = request.query;
    const [row] =
      mrn === undefined
        ? await sql`SELECT json_build_object('patients', json_agg(doc))::text AS body
            FROM (SELECT doc FROM patients ORDER BY last_folded, first_folded, id LIMIT 100) AS page`
        : await sql`SELECT json_build_object('patients', json_agg(doc))::text AS body
            FROM (SELECT doc FROM patients WHERE mrn = ${mrn}) AS page`;
    return reply.type('application/json').send(row?.body);
  });
  return server;
}
