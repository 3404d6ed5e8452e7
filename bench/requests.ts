import type { FastifyInstance } from 'fastify';
import Fastify from 'fastify';
import { connect, type Sql } from '../src/platform/db/database.ts';
import { openServer } from '../src/platform/db/openServer.ts';
import { cpuTime_ms } from './cpuTime.ts';
import { measureRate, type Request } from './measureRate.ts';
import { median, type Row, report } from './report.ts';
import { type RunningApi, startApi } from './startApi.ts';

type Comparison = {
  work: string;
  /** The minimum ratio; undefined if the ratio is only shown. */
  goal: number | undefined;
  in_flight: number;
  method: Request['method'];
  path: string;
  minimal_path: string;
  bodies?: readonly string[];
};

/** Rounds before the first that counts: they open connections, prepare statements and have the code compiled. */
const warm_up_rounds = 3;

type Measured = { rate: number; p50_ms: number; node_ms: number; postgres_ms: number };
type Measure = (base: string, path: string) => Promise<Measured>;

/**
 * Compares the service with a minimal server that does the same work with the same framework and database. `only` selects
 * the comparisons whose name contains it.
 */
export async function compareRequests(
  only: string | undefined,
  rounds = 5,
): Promise<{ rows: Row[]; postgres_version: string }> {
  const { config, service, headers, example, close } = await startApi();
  const server = await openServer(config, () => {});
  const sql = connect(server.owner, { max: config.database_pool });
  const minimal = await createMinimalServer(sql);
  try {
    const urls = { ours: service.base_url, minimal: await minimal.listen({ port: 0, host: '127.0.0.1' }) };
    const patients = await sql<{ mrn: string }[]>`SELECT mrn FROM patients WHERE mrn IS NOT NULL`;
    const rows: Row[] = [];
    for (const comparison of comparisons(example, patients)) {
      if (only !== undefined && !comparison.work.includes(only)) continue;
      const { method, in_flight, bodies } = comparison;
      const measure: Measure = async (base, path) => {
        const before = await cpuTime_ms(config.data_dir);
        const measured = await measureRate({ base, path, method, headers, in_flight, ...(bodies && { bodies }) });
        const after = await cpuTime_ms(config.data_dir);
        const { rate, p50_ms, requests } = measured;
        const per_request = (kind: keyof typeof after) => (after[kind] - before[kind]) / requests;
        return { rate, p50_ms, node_ms: per_request('node'), postgres_ms: per_request('postgres') };
      };
      rows.push(await compareWithMinimal(comparison, measure, urls, rounds));
    }
    const [version] = await sql<{ server_version: string }[]>`SHOW server_version`;
    return { rows, postgres_version: version?.server_version ?? '' };
  } finally {
    await minimal.close();
    await sql.end();
    await server.release();
    await close();
  }
}

function comparisons(example: RunningApi['example'], patients: readonly { mrn: string }[]): Comparison[] {
  const { pharmacy_ehr_id: _pharmacy, patient_mrn: mrn, ...fields } = example;
  // A different patient each time: writes for one patient run one after the other.
  const bodies = patients.map(({ mrn: patient_mrn }) =>
    JSON.stringify({ ...fields, patient_mrn, reason: 'bench', caller: 'bench', message: 'm'.repeat(200) }),
  );
  const write = { method: 'POST', bodies, path: '/v1/telephone-encounters', minimal_path: '/write' } as const;
  const page = { method: 'GET', path: '/v1/patients', minimal_path: '/read' } as const;
  const one = { method: 'GET', path: `/v1/patients?mrn=${mrn}`, minimal_path: `/read?mrn=${mrn}` } as const;
  return [
    { work: 'accept a write, 32 in flight', goal: 0.6, in_flight: 32, ...write },
    { work: 'accept a write, alone', goal: undefined, in_flight: 1, ...write },
    { work: 'a page of 100 patients', goal: 0.85, in_flight: 32, ...page },
    { work: 'one patient by MRN', goal: 0.8, in_flight: 32, ...one },
  ];
}

async function compareWithMinimal(
  { work, goal, path, minimal_path }: Comparison,
  measure: Measure,
  urls: { ours: string; minimal: string },
  rounds: number,
): Promise<Row> {
  const ours: Measured[] = [];
  const minimal: Measured[] = [];
  for (let round = -warm_up_rounds; round < rounds; round++) {
    const pair = [await measure(urls.ours, path), await measure(urls.minimal, minimal_path)] as const;
    if (round < 0) continue;
    ours.push(pair[0]);
    minimal.push(pair[1]);
  }
  const ratio = median(ours.map(({ rate }, n) => rate / (minimal[n]?.rate ?? Number.NaN)));
  const middle = (of: Measured[], key: keyof Measured) => median(of.map((each) => each[key])).toFixed(2);
  const both = (show: (of: Measured[]) => string) => `${show(ours)} and ${show(minimal)} ms`;
  const p50 = both((of) => middle(of, 'p50_ms'));
  const cpu = both((of) => `${middle(of, 'node_ms')} + ${middle(of, 'postgres_ms')}`);
  return report({
    work,
    figure: `${ratio.toFixed(2)} × a minimal server`,
    ratio,
    goal: goal === undefined ? 'shown only' : `≥ ${goal}`,
    detail: `p50 ${p50}; CPU per request, Node + PostgreSQL: ${cpu}`,
  });
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
