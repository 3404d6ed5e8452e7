import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { filterValues, insertRecords, readFiltered } from '../../bench/recordRows.ts';
import { createQuery } from '../../sql/statement.ts';
import { claims } from '../../src/model/records/claims.ts';
import { record_kinds } from '../../src/model/records/kinds.ts';
import { patients } from '../../src/model/records/patients.ts';
import type { RecordKind } from '../../src/model/records/recordKind.ts';
import { connect, type Database, reading, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { role_settings, roleAddresses } from '../../src/platform/db/roles.ts';
import { type Filters, readList } from '../../src/product/records/readRecords.ts';
import { walkRecords } from '../../src/product/records/walkRecords.ts';
import { findPatients } from '../../src/surfaces/dashboard/records/queries.ts';
import { freshDatabase, template } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

/** The statements of lists, as the service sends them, explained while they run as the service's role. */

const rows = 4_000;
const matching = 20;

let owner: Sql;
let service: Sql;
let tenant: Tenant;
let drop: () => Promise<void>;
beforeAll(async () => {
  const database = await freshDatabase('filters', await template('webhooks', migrate));
  drop = database.drop;
  owner = connect(database.address, { max: 1 });
  service = connect(roleAddresses(database.address).service, { max: 1, settings: role_settings.service });
  tenant = await createTenant(owner);
  const others = [await createTenant(owner, { client_id: tenant.client_id }), await createTenant(owner)];
  for (const kind of record_kinds) {
    await insertRecords(owner, tenant, kind, { rows, matching });
    for (const other of others) await insertRecords(owner, other, kind, { rows: rows / 4, matching });
  }
  await owner`VACUUM ANALYZE`;
});
afterAll(async () => {
  await service.end();
  await owner.end();
  await drop();
});

type PlanNode = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
};

type Reads = Pick<Database, 'read' | 'search' | 'batchedOrAlone'>;

/** Runs `work`, and returns what is observed of each statement before it is sent. */
async function observe<T>(
  observation: (execute: string) => Promise<T>,
  work: (db: Reads) => Promise<unknown>,
): Promise<T[]> {
  const observed: T[] = [];
  const query = createQuery(async ({ text, values }) => {
    const literals = values.map((value) => (value === null ? 'NULL' : pg.escapeLiteral(String(value))));
    await service.unsafe(`PREPARE observed AS ${text}`);
    observed.push(await observation(`EXECUTE observed (${literals.join()})`));
    await service.unsafe('DEALLOCATE observed');
    // They are parameters already.
    return service.unsafe(text, values as string[]);
  });
  await work({
    read: reading(query),
    search: reading(query),
    batchedOrAlone: async (client_id, batch, entry) => {
      const [result] = await batch.run(query, client_id, [entry]);
      return result as NonNullable<typeof result>;
    },
  });
  return observed;
}

const modes = ['custom', 'generic'] as const;

function explainPlans(mode: (typeof modes)[number], work: (db: Reads) => Promise<unknown>): Promise<PlanNode[]> {
  return observe(async (execute) => {
    await service.unsafe(`SET plan_cache_mode = force_${mode}_plan`);
    const [row] = await service.unsafe<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${execute}`,
    );
    if (!row) throw new Error('EXPLAIN returned no plan.');
    return row['QUERY PLAN'][0].Plan;
  }, work);
}

/** How often statements are planned with their values when they are executed eight times. */
function customPlans(work: (db: Reads) => Promise<unknown>): Promise<number[]> {
  return observe(async (execute) => {
    await service.unsafe('SET plan_cache_mode = auto');
    for (let n = 0; n < 8; n++) await service.unsafe(execute);
    const [row] = await service.unsafe<{ custom_plans: number }[]>(
      `SELECT custom_plans FROM pg_prepared_statements WHERE name = 'observed'`,
    );
    return row?.custom_plans ?? 0;
  }, work);
}

/** What is wrong with the scans of a plan: they read too many rows, or walk an index to find those that match. */
async function findProblems(plan: PlanNode, read_max = 2 * matching): Promise<string[]> {
  const problems: string[] = [];
  const scan = async (node: PlanNode): Promise<void> => {
    for (const child of node.Plans ?? []) await scan(child);
    const name = node['Index Name'] ?? node['Relation Name'];
    if (name === undefined) return;
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    const read = (node['Actual Rows'] + removed) * node['Actual Loops'];
    if (read > read_max) problems.push(`${node['Node Type']} of ${name} reads ${Math.round(read)} rows`);
    const walked = node['Index Name'] && (await walkedColumns(node['Index Name'], node['Index Cond'] ?? ''));
    if (walked) problems.push(`${node['Node Type']} of ${name} compares ${walked}`);
  };
  await scan(plan);
  return problems;
}

/** Columns of an index that are compared although a column before them is not: the index is read from end to end. */
async function walkedColumns(index: string, condition: string): Promise<string> {
  const columns = await owner<{ name: string }[]>`SELECT attname::text AS name FROM pg_attribute
    WHERE attrelid = ${index}::text::regclass ORDER BY attnum`;
  const compared = columns.map(({ name }) => new RegExp(`\\b${name}\\b`).test(condition));
  const prefix = compared.includes(false) ? compared.indexOf(false) : compared.length;
  return columns
    .filter((_, n) => n >= prefix && compared[n])
    .map(({ name }) => name)
    .join();
}

const kinds: readonly RecordKind[] = record_kinds;
const filters = kinds.flatMap((kind) => Object.entries(filterValues(kind)).map((filter) => [kind, ...filter] as const));
test.each(filters.map(([kind, name, value]) => [kind.name, name, kind, value] as const))(
  'the list of %s by %s is planned once, not at every execution',
  async (_kind, name, kind, value) => {
    // The first five are planned with their values, to compare.
    expect(await customPlans((db) => readFiltered(db, tenant, kind, { [name]: value }))).toStrictEqual([5]);
  },
);

/** The kinds whose lists are paged, which can be walked by cursor. */
const walked = kinds.filter((kind) => kind.list?.returns === 'pages');
const system_keys = { key: () => Buffer.alloc(32) };
const walk = (db: Reads, kind: RecordKind, filters: Filters, page_size = 100) =>
  walkRecords({ db, system_keys }, tenant, kind, { filters, cursor: '', page_size });

describe.each(modes)('with a %s plan', (mode) => {
  test.each(walked.map((kind) => [kind.name, kind] as const))(
    'a page of the walk through %s reads only its rows',
    async (_kind, kind) => {
      const [plan] = await explainPlans(mode, (db) => walk(db, kind, {}));
      expect(plan && (await findProblems(plan, 101))).toStrictEqual([]);
    },
  );

  test.each(
    filters
      .filter(([kind]) => walked.includes(kind))
      .map(([kind, name, value]) => [kind.name, name, kind, value] as const),
  )('the walk through %s by %s reads only the rows that match', async (_kind, name, kind, value) => {
    const [plan] = await explainPlans(mode, (db) => walk(db, kind, { [name]: value }));
    expect(plan && (await findProblems(plan))).toStrictEqual([]);
  });

  test.each(filters.map(([kind, name, value]) => [kind.name, name, kind, value] as const))(
    'the list of %s by %s reads only the rows that match',
    async (_kind, name, kind, value) => {
      const plans = await explainPlans(mode, (db) => readFiltered(db, tenant, kind, { [name]: value }));
      expect(plans).toHaveLength(1);
      for (const plan of plans) expect(await findProblems(plan)).toStrictEqual([]);
    },
  );

  test.each(
    filters
      .filter(([kind]) => kind.list?.returns === 'one_patient')
      .map(([kind, name, value]) => [kind.name, name, kind, value] as const),
  )('the list of %s of one patient, also by %s, reads only the rows that match', async (_kind, name, kind, value) => {
    const patient_mrn = filterValues(kind).patient_mrn;
    const [plan] = await explainPlans(mode, (db) =>
      readList(db, tenant, kind, { filters: { patient_mrn, [name]: value } }),
    );
    expect(plan && (await findProblems(plan))).toStrictEqual([]);
  });

  test.each(['needle', 'xneedle1 needle', 'needle, x', 'match', '415-555-0100', '2000-01-01'])(
    'the search for patients of all practices by “%s” reads only the rows that match',
    async (text) => {
      const [plan] = await explainPlans(mode, (db) => findPatients(db, tenant.client_id, text, { patients_max: 20 }));
      // By first and by last name, in both practices of the client.
      expect(plan && (await findProblems(plan, 4 * matching))).toStrictEqual([]);
    },
  );
});

test('a walk by a filter that most records match shows all of them', async () => {
  const crowd = await createTenant(owner);
  const db = { read: reading(service) };
  for (const [name, kind] of [
    ['last_name', patients],
    ['claim_status', claims],
  ] as const) {
    await insertRecords(owner, crowd, kind, { rows: 5_600, matching: 5_500 });
    const shown: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = { filters: { [name]: filterValues(kind)[name] }, cursor, page_size: 1000 };
      const response = JSON.parse((await walkRecords({ db, system_keys }, crowd, kind, page)).body);
      shown.push(...response[kind.name].map(({ id }: { id: number }) => id));
      cursor = response.pagination.next_cursor;
    }
    expect(shown).toStrictEqual(Array.from({ length: 5_500 }, (_, n) => n + 1));
  }
});
