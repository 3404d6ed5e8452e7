import Fastify, { type FastifyInstance } from 'fastify';
import { connect, type Sql } from '../src/db/database.ts';
import { openServer } from '../src/db/openServer.ts';
import { compare } from './compare.ts';
import { type Asked, measureRate } from './measureRate.ts';
import { startApi } from './startApi.ts';

/** What the service costs over the bare framework and database doing the same work. */
async function main(): Promise<void> {
  const { config, service, headers, example, close } = await startApi();
  const server = await openServer(config, () => {});
  const sql = connect(server.owner, { max: config.database_pool });
  const bare = await layBare(sql);
  const bare_base = await bare.listen({ port: 0, host: '127.0.0.1' });

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
  await compareWithBare(
    'accept a write',
    { ...write, base: service.base_url, path: '/v1/telephone-encounters' },
    { ...write, base: bare_base, path: '/write' },
  );
  await compareWithBare(
    'read a page of 100 patients',
    { ...read, base: service.base_url, path: '/v1/patients' },
    { ...read, base: bare_base, path: '/read' },
  );

  await bare.close();
  await sql.end();
  await server.release();
  await close();
}

/** The same work without the service: a row per write, a page of the same rows per read. */
async function layBare(sql: Sql): Promise<FastifyInstance> {
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
  return bare;
}

async function compareWithBare(what: string, ours: Asked, bare: Asked): Promise<void> {
  await compare(what, () => measureRate(ours), { called: 'the bare rate', measure: () => measureRate(bare) });
}

await main();
