import Fastify, { type FastifyInstance } from 'fastify';
import { connect, type Sql } from '../src/db/database.ts';
import { openServer } from '../src/db/openServer.ts';
import { compare } from './compare.ts';
import { measureRate, type Request } from './measureRate.ts';
import { startApi } from './startApi.ts';

/** Compares the service with a minimal server that does the same work with the same framework and database. */
async function main(): Promise<void> {
  const { config, service, headers, example, close } = await startApi();
  const server = await openServer(config, () => {});
  const sql = connect(server.owner, { max: config.database_pool });
  const minimal = await createMinimalServer(sql);
  const minimal_url = await minimal.listen({ port: 0, host: '127.0.0.1' });

  const { pharmacy_ehr_id: _pharmacy, ...fields } = example;
  const mrns = (await sql<{ mrn: string }[]>`SELECT mrn FROM patients`).map((row) => row.mrn);
  let turn = 0;
  // A different patient each time: writes for one patient run one after the other.
  const body = () => {
    const patient_mrn = mrns[turn++ % mrns.length];
    return JSON.stringify({ ...fields, patient_mrn, reason: 'bench', caller: 'bench', message: 'm'.repeat(200) });
  };
  const write = { method: 'POST', headers, body } as const;
  const read = { method: 'GET', headers } as const;
  await compareWithMinimal(
    'accept a write',
    { ...write, base: service.base_url, path: '/v1/telephone-encounters' },
    { ...write, base: minimal_url, path: '/write' },
  );
  await compareWithMinimal(
    'read a page of 100 patients',
    { ...read, base: service.base_url, path: '/v1/patients' },
    { ...read, base: minimal_url, path: '/read' },
  );

  await minimal.close();
  await sql.end();
  await server.release();
  await close();
}

/** Inserts a row per write and returns a page of the same rows per read. */
async function createMinimalServer(sql: Sql): Promise<FastifyInstance> {
  await sql`CREATE TABLE bench_calls (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body json)`;
  const server = Fastify();
  server.post('/write', async (request) => {
    const [row] =
      await sql`INSERT INTO bench_calls (body) VALUES (${JSON.stringify(request.body)}::text::json) RETURNING id`;
    return { success: true, job_id: row?.id };
  });
  server.get('/read', async (_request, reply) => {
    const [row] = await sql`SELECT json_build_object('patients', json_agg(doc))::text AS body
      FROM (SELECT doc FROM patients ORDER BY last_folded, first_folded, id LIMIT 100) AS page`;
    return reply.type('application/json').send(row?.body);
  });
  return server;
}

async function compareWithMinimal(name: string, ours: Request, minimal: Request): Promise<void> {
  const baseline = { name: 'the rate of the minimal server', measure: () => measureRate(minimal) };
  await compare(name, () => measureRate(ours), baseline);
}

await main();
