import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findRecords } from '../src/audit/auditRecords.ts';
import { loadConfig } from '../src/config.ts';
import { connect, type Database, type DatabaseAddress, openDatabase, type Sql } from '../src/db/database.ts';
import { claimLeases } from '../src/db/lease.ts';
import { migrate } from '../src/db/migrate.ts';
import { openServer } from '../src/db/openServer.ts';
import { purgeJobInputs } from '../src/erasure/retention.ts';
import { newId } from '../src/ids.ts';
import { listJobs } from '../src/jobs/listJobs.ts';
import { patients } from '../src/model/records/patients.ts';
import { readPage } from '../src/records/readRecords.ts';
import { browseEvents } from '../src/webhooks/browseEvents.ts';
import { listEvents, purgeEvents } from '../src/webhooks/events.ts';
import { compare } from './compare.ts';

/**
 * Compares the cost of the same work in a database with a thousand rows of everything and in one with a million
 * (`--rows`), and with one practice and a thousand. The two alternate, so that the ratio does not depend on the machine.
 * Exit code 1 if a ratio exceeds 1.2. Only statements are timed: a constant cost of HTTP would hide growth.
 */
const ratio_max = 1.2;
const rows_small = 1_000;
const repetitions = 40;
const rounds = 7;
const lanes = 20;

type Installation = { db: Database; owner: Sql; client_id: string; organization_id: string; account_id: string };
type Work = { name: string; run(installation: Installation): Promise<unknown> };

const works: readonly Work[] = [
  { name: 'a page of patients', run: ({ db, ...scope }) => readPage(db, scope, patients, {}) },
  { name: 'one patient by MRN', run: ({ db, ...scope }) => readPage(db, scope, patients, { mrn: 'MRN7' }) },
  { name: 'a claim of jobs', run: ({ db, owner }) => claimAll(db, owner, 'lanes') },
  { name: 'a claim of deliveries', run: ({ db, owner }) => claimAll(db, owner, 'deliveries') },
  { name: 'a page of jobs', run: ({ db, client_id }) => listJobs(db, client_id, {}) },
  { name: 'a page of failed jobs', run: ({ db, client_id }) => listJobs(db, client_id, { state: 'failed' }) },
  { name: 'a page of events (dashboard)', run: ({ db, client_id }) => browseEvents(db, client_id, { page_size: 50 }) },
  { name: 'a page of events (API)', run: (each) => events(each, {}) },
  { name: 'the event of a job (API)', run: (each) => events(each, { job_id: 7 }) },
  { name: 'a page of audit records', run: ({ db }) => findRecords(db.system.pooled, { scope: 'all', limit: 51 }) },
  {
    name: 'audit records of a patient',
    run: ({ db }) => findRecords(db.system.pooled, { scope: 'all', patients: ['7'], limit: 51 }),
  },
  { name: 'a purge of events with nothing to do', run: ({ db }) => purgeEvents(db.system, 30) },
  { name: 'a purge of requests of jobs with nothing to do', run: ({ db }) => purgeJobInputs({ db }, 90) },
];

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { rows: { type: 'string' }, only: { type: 'string' } } });
  const rows = Number(values.rows ?? 1_000_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const server = await openServer(loadConfig({ LOG_LEVEL: 'silent', DATA_DIR: data_dir }), () => {});
  const opened: Installation[] = [];
  const open = async (suffix: string, count: number, practices: number) => {
    const installation = await create(await server.sibling(suffix), count, practices);
    opened.push(installation);
    return installation;
  };
  try {
    const small = await open('small', rows_small, 1);
    const large = await open('large', rows, 1);
    const many = await open('many', rows_small, 1_000);
    const selected = works.filter(({ name }) => values.only === undefined || name.includes(values.only));
    for (const work of selected) {
      await compareCost(work, `${rows.toLocaleString('en-US')} rows`, large, small);
      await compareCost(work, '1,000 practices', many, small);
    }
  } finally {
    for (const { db, owner } of opened) {
      await db.close();
      await owner.end();
    }
    await server.release();
    await rm(data_dir, { recursive: true, force: true });
  }
}

async function compareCost(work: Work, what: string, large: Installation, small: Installation): Promise<void> {
  const time = async (installation: Installation) => {
    const start = performance.now();
    for (let n = 0; n < repetitions; n++) await work.run(installation);
    return (performance.now() - start) / repetitions;
  };
  const baseline = { name: 'with 1,000 rows of one practice', measure: () => time(small) };
  const ratio = await compare(`${work.name}, ${what}`, () => time(large), baseline, rounds);
  const ms = (await time(large)).toFixed(2);
  process.stdout.write(`  ${ms} ms${ratio > ratio_max ? `: more than ${ratio_max} times` : ''}\n`);
  if (ratio > ratio_max) process.exitCode = 1;
}

function events({ db, client_id, account_id }: Installation, filters: { job_id?: number }) {
  return listEvents(db, client_id, account_id, { page: 1, page_size: 50, ...filters });
}

/** Claims what is ready and releases it again. */
async function claimAll(db: Database, owner: Sql, table: 'lanes' | 'deliveries'): Promise<void> {
  const leases = await claimLeases(db.system, table, { owner: 'bench', count: lanes, lease_ms: 60_000 });
  if (leases.length === 0) throw new Error(`No ${table} were ready.`);
  const ids = leases.map(({ id }) => id);
  await owner`UPDATE ${owner(table)} SET locked_until = NULL, owner = NULL WHERE id = ANY (${ids}::uuid[])`;
}

/** A migrated database with finished work, spread over practices, and a little that is ready. */
async function create(address: DatabaseAddress, count: number, practices: number): Promise<Installation> {
  const roles = await migrate(address);
  const owner = connect(address, { max: 1 });
  const [client_id, organization_id, account_id] = [newId(), newId(), newId()];
  process.stdout.write(`inserting ${count} rows of everything for ${practices} practices\n`);
  await owner`INSERT INTO clients (id, public_id, name, mode) VALUES (${client_id}, 'bench', 'Bench', 'test')`;
  // The first practice has the rows that are read.
  await owner`CREATE TEMP TABLE practice AS SELECT n, CASE n WHEN 0 THEN ${organization_id}::uuid ELSE gen_random_uuid() END
      AS organization_id, CASE n WHEN 0 THEN ${account_id}::uuid ELSE gen_random_uuid() END AS account_id
    FROM generate_series(0, ${practices - 1}::int) AS n`;
  await owner`INSERT INTO organizations (id, client_id, org_id, connector, emr_address, timezone)
    SELECT organization_id, ${client_id}, 'bench-' || n, 'bench', 'http://127.0.0.1', 'UTC' FROM practice`;
  await owner`INSERT INTO accounts (id, client_id, organization_id, user_id, reference_id, token_hash, token_sealed, status,
      credentials_sealed, grant_sealed, emr_user_id, emr_user_name)
    SELECT account_id, ${client_id}, organization_id, 'u', 'ref-' || n, n::text::bytea, '', 'active', '', '', 'u', 'U'
      FROM practice`;
  await insertRows(owner, { client_id, organization_id, count, practices });
  await owner`VACUUM ANALYZE`;
  return { db: openDatabase(roles, 2), owner, client_id, organization_id, account_id };
}

async function insertRows(
  owner: Sql,
  {
    client_id,
    organization_id,
    count,
    practices,
  }: Record<'client_id' | 'organization_id', string> & Record<'count' | 'practices', number>,
): Promise<void> {
  await owner`CREATE TEMP TABLE bench AS SELECT series.n, gen_random_uuid() AS operation_id, gen_random_uuid() AS event_id,
      organization_id, account_id, now() - series.n * interval '1 second' AS at
    FROM generate_series(1, ${count}::int) AS series (n) JOIN practice ON practice.n = series.n % ${practices}::int`;
  await owner`INSERT INTO patients (id, client_id, organization_id, ehr_id, mrn, status, first_folded, last_folded, doc, source_hash,
      seen_in)
    SELECT gen_random_uuid(), ${client_id}, ${organization_id}, n::text, 'MRN' || n, 'active', 'f' || n, 'l' || n,
           json_build_object('mrn', 'MRN' || n), '', 1 FROM bench`;
  await owner`INSERT INTO operations (id, client_id, organization_id, account_id, type, input, created_at)
    SELECT operation_id, ${client_id}, organization_id, account_id, 'bench', '{}', at FROM bench`;
  await owner`INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state, created_at,
      finished_at, event_id)
    SELECT ${client_id}, organization_id, account_id, operation_id, 'bench', 'patient:' || n,
           CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'succeeded' END, at, at, event_id FROM bench ORDER BY n`;
  await owner`INSERT INTO events (id, client_id, account_id, job_id, type, body, delivery_status, created_at)
    SELECT event_id, ${client_id}, account_id, n, 'bench', '{}', 'success', at FROM bench`;
  await owner`INSERT INTO webhook_endpoints (id, client_id, url) VALUES ('wh_bench', ${client_id}, 'https://example.org')`;
  await owner`INSERT INTO deliveries (id, client_id, event_id, endpoint_id, status, ready_at, finished_at)
    SELECT gen_random_uuid(), ${client_id}, event_id, 'wh_bench', CASE WHEN n <= ${lanes}::int THEN 'pending' ELSE 'success' END,
           CASE WHEN n <= ${lanes}::int THEN now() END, at FROM bench`;
  await owner`INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max)
    SELECT ${client_id}, organization_id, account_id, 'patient:' || n, 8 FROM bench WHERE n <= ${lanes}::int`;
  await owner`INSERT INTO audit_records (id, at, client_id, actor_kind, actor, account_id, action, outcome, job_id, patients,
      mac, position)
    SELECT gen_random_uuid(), at, ${client_id}, 'worker', 'worker', account_id, 'job.bench', 'succeeded', n,
           ARRAY[n % 100000], '', n FROM bench`;
}

await main();
