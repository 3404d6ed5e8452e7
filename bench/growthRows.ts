import { newId } from '../src/catalog/ids.ts';
import { record_kinds } from '../src/model/records/kinds.ts';
import type { RecordKind } from '../src/model/records/recordKind.ts';
import {
  connect,
  type Database,
  type DatabaseAddress,
  openDatabase,
  type Sql,
  type Tx,
} from '../src/platform/db/database.ts';
import { migrate } from '../src/platform/db/migrate.ts';
import { type ChangesPage, latest, readChanges } from '../src/product/records/changes.ts';
import { countEvents, event_days_max } from '../src/product/webhooks/events.ts';
import { insertRecords } from './recordRows.ts';

type Ids = Record<'client_id' | 'organization_id' | 'account_id', string>;

/** A database with finished work of one client, and the practice and account whose rows are read. */
export type Installation = Ids & {
  db: Database;
  owner: Sql;
  /** A page of the change feed with the newest changes. */
  readNewestChanges(): Promise<ChangesPage>;
};

/** Lanes and deliveries that are ready, whatever else the database contains. */
export const ready_rows = 20;

/** The kinds whose lists have filters. */
export const filtered_kinds: readonly RecordKind[] = record_kinds.filter(
  (kind: RecordKind) => Object.keys(kind.filters).length > 0,
);

/** How many records each filter matches, whatever else the database contains: a full page. */
const page_rows = 100;

/** The oldest rows belong to the first practice, so that its pages are full however many practices share the others. */
const first_practice_rows = 100;

/** Opens the database, with rows from an earlier run or new ones: `rows` of everything, spread over practices. */
export async function openInstallation(
  address: DatabaseAddress,
  rows: number,
  practices: number,
): Promise<Installation> {
  const roles = await migrate(address);
  const owner = connect(address, { max: 1 });
  const ids = (await findIds(owner)) ?? (await owner.begin((tx) => insertAll(tx, rows, practices)));
  const db = openDatabase(roles, 2);
  // Otherwise a page of events does this when it finds 1,000 new ones, which would happen in the small database only.
  await countEvents(db, { ...ids, days: event_days_max });
  // Also sets what index-only scans and HOT updates need, as autovacuum has done in a database of some age.
  await owner`VACUUM ANALYZE`;
  return { db, owner, ...ids, readNewestChanges: await changeRecords(db, owner, ids) };
}

/** Changes a page of records, and returns what reads the feed from there: after everything else that it contains. */
async function changeRecords(db: Database, owner: Sql, ids: Ids): Promise<() => Promise<ChangesPage>> {
  const ctx = { db, system_keys: { key: () => Buffer.alloc(32) } };
  const read = (cursor: string) => readChanges(ctx, ids, { cursor, limit: page_rows });
  const { next_cursor } = JSON.parse((await read(latest)).body) as { next_cursor: string };
  await owner`UPDATE claims SET doc = json_build_object('id', id, 'at', now()) WHERE id IN (
    SELECT id FROM claims WHERE organization_id = ${ids.organization_id} ORDER BY id LIMIT ${page_rows}::int)`;
  const { changes } = JSON.parse((await read(next_cursor)).body) as { changes: unknown[] };
  if (changes.length !== page_rows) throw new Error(`The feed has ${changes.length} new changes.`);
  return () => read(next_cursor);
}

async function findIds(owner: Sql): Promise<Ids | undefined> {
  const [ids] = await owner<Ids[]>`SELECT client_id, organization_id, id AS account_id FROM accounts
    WHERE reference_id = 'ref-0'`;
  return ids;
}

async function insertAll(tx: Tx, rows: number, practices: number): Promise<Ids> {
  process.stdout.write(`inserting ${rows} rows of everything for ${practices} practices\n`);
  const [client_id, organization_id, account_id] = [newId(), newId(), newId()];
  await tx`INSERT INTO clients (id, public_id, name, mode) VALUES (${client_id}, 'bench', 'Bench', 'test')`;
  // The first practice has the rows that are read.
  await tx`CREATE TEMP TABLE practice ON COMMIT DROP AS
    SELECT n, CASE n WHEN 0 THEN ${organization_id}::uuid ELSE uuidv7() END AS organization_id,
           CASE n WHEN 0 THEN ${account_id}::uuid ELSE uuidv7() END AS account_id
      FROM generate_series(0, ${practices - 1}::int) AS n`;
  await tx`INSERT INTO organizations (id, client_id, org_id, connector, emr_address, timezone)
    SELECT organization_id, ${client_id}, 'bench-' || n, 'bench', 'http://127.0.0.1', 'UTC' FROM practice`;
  await tx`INSERT INTO accounts (id, client_id, organization_id, user_id, reference_id, token_hash, token_sealed, status,
      credentials_sealed, grant_sealed, emr_user_id, emr_user_name)
    SELECT account_id, ${client_id}, organization_id, 'u', 'ref-' || n, n::text::bytea, '', 'active', '', '', 'u', 'U'
      FROM practice`;
  const ids = { client_id, organization_id, account_id };
  await insertWork(tx, ids, rows, practices);
  return ids;
}

/**
 * Up to a million rows: one row of each table per second, oldest first, as the service would have inserted them. Ids are
 * in the order of time, so that the rows of a page are next to each other in tables and indexes. More rows share the same
 * twelve days: older ones would be purged.
 */
async function insertWork(tx: Tx, { client_id, organization_id }: Ids, rows: number, practices: number): Promise<void> {
  await tx`CREATE TEMP TABLE bench ON COMMIT DROP AS
    SELECT series.n, uuidv7(age) AS operation_id, uuidv7(age) AS event_id, uuidv7(age) AS other_id,
           organization_id, account_id, now() + age AS at, series.n > ${rows - ready_rows}::int AS ready
      FROM generate_series(1, ${rows}::int) AS series (n)
      JOIN practice ON practice.n = CASE WHEN series.n <= ${first_practice_rows}::int THEN 0 ELSE series.n % ${practices}::int END
     CROSS JOIN LATERAL (SELECT (series.n - ${rows}::int) * make_interval(secs => ${Math.min(1, 1_000_000 / rows)}::float8) AS age) AS time
     ORDER BY series.n`;
  await withoutIndexes(tx, [...filtered_kinds.map(({ name }) => name), 'name_suffixes'], async () => {
    for (const kind of filtered_kinds) {
      await insertRecords(tx, { client_id, organization_id }, kind, { rows, matching: page_rows });
    }
  });
  await tx`INSERT INTO operations (id, client_id, organization_id, account_id, type, input, created_at)
    SELECT operation_id, ${client_id}, organization_id, account_id, 'bench', '{}', at FROM bench ORDER BY n`;
  await tx`INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state, created_at,
      finished_at, event_id)
    SELECT ${client_id}, organization_id, account_id, operation_id, 'bench', 'patient:' || n,
           CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'succeeded' END, at, at, event_id FROM bench ORDER BY n`;
  await tx`INSERT INTO events (id, client_id, account_id, job_id, type, body, delivery_status, created_at)
    SELECT event_id, ${client_id}, account_id, n, 'bench', '{}', 'success', at FROM bench ORDER BY n`;
  await tx`INSERT INTO webhook_endpoints (id, client_id, url) VALUES ('wh_bench', ${client_id}, 'https://example.org')`;
  await tx`INSERT INTO deliveries (id, client_id, event_id, endpoint_id, status, ready_at, finished_at)
    SELECT other_id, ${client_id}, event_id, 'wh_bench', CASE WHEN ready THEN 'pending' ELSE 'success' END,
           CASE WHEN ready THEN now() END, CASE WHEN ready THEN NULL ELSE at END FROM bench ORDER BY n`;
  // As many at once as are ready: with a lower limit, one practice would get fewer than several do.
  await tx`INSERT INTO lanes (client_id, organization_id, account_id, key, parallel_max)
    SELECT ${client_id}, organization_id, account_id, 'patient:' || n, ${ready_rows}::int FROM bench WHERE ready ORDER BY n`;
  await tx`INSERT INTO audit_records (id, at, client_id, actor_kind, actor, account_id, action, outcome, job_id, patients,
      mac, position)
    SELECT other_id, at, ${client_id}, 'worker', 'worker', account_id, 'job.bench', 'succeeded', n,
           ARRAY[n / 10], '', n FROM bench ORDER BY n`;
  // All of one patient, over six years: the rows before and after a page grow with the database.
  await tx`INSERT INTO disclosures (client_id, patient, organization_id, day, key, kind, action, actor_kind, actor,
      account_id, confirmed, addresses, count, first_at, last_at)
    SELECT ${client_id}, 7, ${organization_id}, current_date - n::int % 2190, md5(n::text)::uuid, 'read', 'patients.list', 'client',
           '', account_id, true, '{203.0.113.7}', 1, at, at FROM bench ORDER BY n DESC`;
  await tx`UPDATE disclosure_progress SET position = ${rows}::int`;
}

/** Creates the indexes of tables after rows are inserted, which takes a fraction of the time to add to them. */
async function withoutIndexes(tx: Tx, tables: readonly string[], work: () => Promise<void>): Promise<void> {
  const indexes = await tx<{ name: string; definition: string }[]>`
    SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid = ANY (${[...tables]}::text[]::regclass[]) AND NOT indisunique`;
  for (const { name } of indexes) await tx.unsafe(`DROP INDEX ${name}`);
  await work();
  for (const { definition } of indexes) await tx.unsafe(definition);
}
