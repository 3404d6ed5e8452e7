import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../src/catalog/ids.ts';
import { loadConfig } from '../src/catalog/settings/config.ts';
import { claims } from '../src/model/records/claims.ts';
import { connect, type Database, openDatabase, type Sql } from '../src/platform/db/database.ts';
import { openServer } from '../src/platform/db/openServer.ts';
import { type Filters, readPage } from '../src/product/records/readRecords.ts';
import { compare } from './compare.ts';

/**
 * Compares reading a page of claims, with its total, in a practice with a million claims and in one with a thousand.
 * Only the query is timed: the constant cost of HTTP would make the ratio look better than it is.
 */
const rounds = 9;
const reads = 200;
const ratio_max = 1.2;
const claims_per_patient = 10;

type Practice = { client_id: string; organization_id: string };

async function main(): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const config = loadConfig({ LOG_LEVEL: 'silent', DATA_DIR: data_dir });
  const server = await openServer(config, () => {});
  const owner = connect(server.owner, { max: 1 });
  const db = openDatabase(server.roles, 2);
  try {
    const client_id = newId();
    await owner`INSERT INTO clients (id, public_id, name, mode) VALUES (${client_id}, 'bench', 'Bench', 'test')`;
    const practices = {
      small: await insertClaims(owner, client_id, 1_000),
      large: await insertClaims(owner, client_id, 1_000_000),
    };
    await owner`VACUUM ANALYZE claims`;
    const first = await compareCost(db, practices, 'the first page of 100, unfiltered', {});
    await compareCost(db, practices, 'the claims of one patient', { patient_mrn: 'MRN7' });
    await compareCost(db, practices, 'claims of one status since a date', {
      start_date: '2026-01-01',
      claim_status: 'RARE',
    });
    if (first > ratio_max) {
      process.stderr.write(`The first page must take at most ${ratio_max} times as long.\n`);
      process.exitCode = 1;
    }
  } finally {
    await db.close();
    await owner.end();
    await server.release();
    await rm(data_dir, { recursive: true, force: true });
  }
}

/** Ten claims per patient, over a thousand days. Ten claims in total have the rare status. */
async function insertClaims(owner: Sql, client_id: string, count: number): Promise<Practice> {
  const organization_id = newId();
  await owner`INSERT INTO organizations (id, client_id, org_id, connector, emr_address, timezone)
    VALUES (${organization_id}, ${client_id}, ${`bench-${count}`}, 'bench', 'http://127.0.0.1', 'UTC')`;
  await owner`
    INSERT INTO claims (id, client_id, organization_id, ehr_id, service_date, patient_mrn, claim_status, doc,
                        source_hash, seen_in)
    SELECT gen_random_uuid(), ${client_id}, ${organization_id}, n::text, date '2026-12-31' - (n % 1000)::int,
           'MRN' || n / ${claims_per_patient}::int, CASE WHEN n <= 10 THEN 'RARE' ELSE 'PAID' END,
           json_build_object('emr_claim_id', n, 'billing_notes', repeat('claim ', 80)), '', 1
      FROM generate_series(1, ${count}::int) AS n`;
  return { client_id, organization_id };
}

async function compareCost(
  db: Database,
  { small, large }: { small: Practice; large: Practice },
  name: string,
  filters: Filters,
): Promise<number> {
  const total = JSON.parse((await readPage(db, large, claims, { filters })).body).pagination.total_count;
  const baseline = { name: 'the time with a thousand', measure: () => time(db, small, filters) };
  return compare(`${name} (${total} match), a million claims`, () => time(db, large, filters), baseline, rounds);
}

/** The time of one round in milliseconds. Reads run one after the other. */
async function time(db: Database, practice: Practice, filters: Filters): Promise<number> {
  const start = performance.now();
  for (let n = 0; n < reads; n++) await readPage(db, practice, claims, { filters });
  return performance.now() - start;
}

await main();
