import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, type Database, openDatabase, type Query, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { purgeEvents } from '../../src/product/erasure/retention.ts';
import { listJobs } from '../../src/product/jobs/listJobs.ts';
import { countFailed } from '../../src/product/webhooks/resend.ts';
import { jobsOfPatient } from '../../src/product/writes/patients/patientLane.ts';
import { browseEvents } from '../../src/surfaces/dashboard/events/queries.ts';
import { freshDatabase, template } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

let owner: Sql;
let db: Database;
let tenant: Tenant;
let drop: () => Promise<void>;
beforeAll(async () => {
  const database = await freshDatabase('plans', await template('webhooks', migrate));
  drop = database.drop;
  owner = connect(database.address, { max: 1 });
  // One connection, so that every execution finds the statement prepared.
  db = openDatabase(roleAddresses(database.address), 1);
  tenant = await createTenant(owner);
  await owner`INSERT INTO webhook_endpoints (id, client_id, url) VALUES ('wh_plans', ${tenant.client_id}, 'https://example.org')`;
});
afterAll(async () => {
  await db.close();
  await owner.end();
  await drop();
});

/** Jobs, a tenth of them failed, each with a step, an event and a delivery. */
async function insertJobs(rows: number): Promise<void> {
  const { client_id, organization_id, account_id } = tenant;
  await owner.begin(async (tx) => {
    await tx`CREATE TEMP TABLE added ON COMMIT DROP AS
      SELECT n, gen_random_uuid() AS operation_id, gen_random_uuid() AS event_id, now() - n * interval '1 second' AS at
        FROM generate_series(1, ${rows}::int) AS n`;
    await tx`INSERT INTO operations (id, client_id, organization_id, account_id, type, input)
      SELECT operation_id, ${client_id}, ${organization_id}, ${account_id}, 'plans',
             json_build_object('patient_mrn', 'MRN' || n) FROM added`;
    await tx`INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state, created_at, finished_at,
        event_id)
      SELECT ${client_id}, ${organization_id}, ${account_id}, operation_id, 'plans', n::text,
             CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'succeeded' END, at, at, event_id FROM added`;
    await tx`INSERT INTO job_steps (job_id, client_id, attempt, name, kind)
      SELECT jobs.id, ${client_id}, 1, 'started', 'note' FROM jobs JOIN added USING (operation_id)`;
    await tx`INSERT INTO events (id, client_id, account_id, job_id, type, body, delivery_status, created_at)
      SELECT added.event_id, ${client_id}, ${account_id}, jobs.id, 'plans', '{}', 'failed', at
        FROM jobs JOIN added USING (operation_id)`;
    await tx`INSERT INTO deliveries (id, client_id, event_id, endpoint_id, status, ready_at, finished_at)
      SELECT gen_random_uuid(), ${client_id}, event_id, 'wh_plans', 'failed', NULL, at FROM added`;
  });
}

const repeat = async (times: number, work: () => Promise<unknown>) => {
  for (let n = 0; n < times; n++) await work();
};

/** How often the connection's statements about a table were planned with their values. */
async function replanned(sql: Query, table: string): Promise<number> {
  const [row] = await sql<{ plans: number }[]>`SELECT coalesce(max(custom_plans), 0)::int AS plans
    FROM pg_prepared_statements WHERE statement LIKE ${`%${table}%`} AND statement NOT LIKE '%pg_prepared_statements%'`;
  return row?.plans ?? 0;
}

/** The rows that statements have read so far. */
async function rowsRead(): Promise<number> {
  // Other sessions report what they counted when they become idle, but not more often than once in a second.
  await db.service.pooled`SELECT pg_stat_force_next_flush()`;
  await db.service.pooled`SELECT 1`;
  const [row] = await owner<{ rows: number }[]>`
    SELECT sum(pg_stat_get_tuples_returned(oid) + pg_stat_get_tuples_fetched(oid))::float8 AS rows
      FROM pg_class WHERE relkind = 'i'`;
  return row?.rows ?? 0;
}

const pages: Record<string, () => Promise<unknown>> = {
  'jobs of a patient': () => listJobs(db, tenant.client_id, {}, (sql) => jobsOfPatient(sql, tenant.client_id, 'MRN7')),
  'events to resend': () => db.tenant(tenant.client_id, (tx) => countFailed(tx, '2020-01-01', 'wh_plans')),
};

it('plans made while the tables were nearly empty read each row a few times at most', async () => {
  const rows = 3_000;
  await insertJobs(20);
  for (const page of Object.values(pages)) await repeat(12, page);
  await insertJobs(rows);
  for (const [name, page] of Object.entries(pages)) {
    const before = await rowsRead();
    await page();
    expect.soft((await rowsRead()) - before, name).toBeLessThan(20 * rows);
  }
});

it('pages of a large table are planned once, not at every execution', async () => {
  await insertJobs(20_000);
  await owner`ANALYZE`;
  await repeat(12, () => listJobs(db, tenant.client_id, {}));
  await repeat(12, () => listJobs(db, tenant.client_id, { state: 'failed' }));
  await repeat(12, () => browseEvents(db, tenant.client_id, { page_size: 50 }));
  await repeat(12, () => purgeEvents({ db }, 30));
  // The first five executions are planned with their values, to compare.
  expect.soft(await replanned(db.service.pooled, 'FROM jobs')).toBeLessThanOrEqual(5);
  expect.soft(await replanned(db.service.pooled, 'FROM events')).toBeLessThanOrEqual(5);
  expect.soft(await replanned(db.service.pooled, 'DELETE FROM events')).toBeLessThanOrEqual(5);
});
