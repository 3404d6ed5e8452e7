import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { createBatches } from '../../src/platform/db/batches.ts';
import { createStamp, insertRecords } from '../../src/product/audit/auditRecords.ts';
import { acceptJob, type NewJob, type ReferenceCheck, unknown_reference } from '../../src/product/jobs/enqueue.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

type Options = { lane?: string; key?: Buffer; of?: Tenant } & Partial<NewJob>;

function newJob({ lane = `patient:${newId()}`, key, of = fixture.tenant, ...rest }: Options = {}): NewJob {
  const { client_id, organization_id, account_id } = of;
  const operation = { id: newId(), type: 'test', input: { patient_mrn: lane }, reference: null };
  const idempotency = key && { scope_id: account_id, key_hash: key, request_hash: key };
  return { client_id, organization_id, account_id, operation, lane, parallel_max: 4, idempotency, ...rest };
}

const accept = (job: NewJob) => acceptJob(fixture, job);
const key = () => randomBytes(32);

/** The jobs of these operations in the order of their ids, each with the transaction that stored it. */
const stored = (jobs: readonly NewJob[]) => fixture.owner<
  { id: number; operation_id: string; client_id: string; lane: string; xmin: string }[]
>`
  SELECT id, operation_id, client_id, lane, xmin::text AS xmin FROM jobs
   WHERE operation_id = ANY (${jobs.map(({ operation }) => operation.id)}::uuid[]) ORDER BY id`;

/** Holds a key in an open transaction, like a request of another process, until it is released. */
async function holdKey(key_hash: Buffer): Promise<() => Promise<void>> {
  const { client_id, account_id } = fixture.tenant;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let signalHeld = () => {};
  const inserted = new Promise<void>((resolve) => {
    signalHeld = resolve;
  });
  const transaction = fixture.owner.begin(async (tx) => {
    await tx`INSERT INTO idempotency_keys (scope_id, key_hash, client_id, request_hash)
      VALUES (${account_id}, ${key_hash}, ${client_id}, ${key_hash})`;
    signalHeld();
    await released;
    await tx`DELETE FROM idempotency_keys WHERE key_hash = ${key_hash}`;
  });
  await inserted;
  return async () => {
    release();
    await transaction;
  };
}

describe('jobs that arrive together', () => {
  test('are stored by one transaction, with ids in the order of arrival', async () => {
    const jobs = Array.from({ length: 40 }, (_, n) => newJob({ lane: `patient:${n % 3}` }));
    const ids = await Promise.all(jobs.map(accept));
    const rows = await stored(jobs);
    expect(rows.map(({ id }) => id)).toStrictEqual(ids);
    expect(rows.map(({ operation_id }) => operation_id)).toStrictEqual(jobs.map(({ operation }) => operation.id));
    expect(new Set(rows.map(({ xmin }) => xmin)).size).toBe(1);
    const lanes =
      await fixture.owner`SELECT key FROM lanes WHERE key = ANY (${['patient:0', 'patient:1', 'patient:2']})`;
    expect(lanes).toHaveLength(3);
  });

  test('more than fit into one statement are all stored, in order', async () => {
    const jobs = Array.from({ length: 250 }, () => newJob({ lane: 'patient:many' }));
    const ids = await Promise.all(jobs.map(accept));
    const rows = await stored(jobs);
    expect(rows.map(({ id }) => id)).toStrictEqual(ids);
    expect(rows.map(({ operation_id }) => operation_id)).toStrictEqual(jobs.map(({ operation }) => operation.id));
    expect(new Set(rows.map(({ xmin }) => xmin)).size).toBe(3);
  });

  test('jobs with the same key that arrive together are one job, the first one', async () => {
    const shared = key();
    const jobs = [newJob(), newJob({ key: shared }), newJob({ key: shared }), newJob({ key: key() })];
    const ids = await Promise.all(jobs.map(accept));
    expect(ids.map((id) => id !== undefined)).toStrictEqual([true, true, false, true]);
    expect((await stored(jobs)).map(({ id }) => id)).toStrictEqual(ids.filter((id) => id !== undefined));
    const rows = await fixture.owner`SELECT operation_id FROM idempotency_keys WHERE key_hash = ${shared}`;
    expect(rows).toStrictEqual([{ operation_id: jobs[1]?.operation.id }]);
    expect(await accept(newJob({ key: shared }))).toBeUndefined();
  });

  test('are stored with the audit records of those that are stored', async () => {
    const { stamp } = createStamp({ key: () => randomBytes(32) });
    const audited = (options: Options) => {
      const job = newJob(options);
      const { client_id } = job;
      const actor = { actor_kind: 'client', actor: 'test', action: 'test', outcome: '200' } as const;
      job.auditStatement = {
        entry: (subject) => ({ client_id, ...actor, subject }),
        insert: (sql, entries, condition) =>
          sql`${insertRecords(
            sql,
            entries.map((entry) => stamp(entry)),
            condition,
          )} RETURNING id`,
        committed: () => {},
      };
      return job;
    };
    const shared = key();
    const jobs = [audited({}), audited({ key: shared }), audited({ key: shared }), newJob()];
    await Promise.all(jobs.map(accept));
    const records = await fixture.owner<{ subject: string; xmin: string }[]>`
      SELECT subject, xmin::text AS xmin FROM audit_records ORDER BY id`;
    expect(records.map(({ subject }) => subject)).toStrictEqual(jobs.slice(0, 2).map(({ operation }) => operation.id));
    const [row] = await stored(jobs);
    for (const { xmin } of records) expect(xmin).toBe(row?.xmin);
  });

  test('jobs of several clients that arrive together are stored by a transaction of each', async () => {
    const other = await createTenant(fixture.owner);
    const jobs = Array.from({ length: 20 }, (_, n) => newJob({ of: n % 2 ? other : fixture.tenant }));
    await Promise.all(jobs.map(accept));
    const rows = await stored(jobs);
    const clients = new Map(jobs.map(({ operation, client_id }) => [operation.id, client_id]));
    for (const { operation_id, client_id } of rows) expect(client_id).toBe(clients.get(operation_id));
    const transactions = new Map(rows.map(({ xmin, client_id }) => [xmin, client_id]));
    expect([...transactions.values()].sort()).toStrictEqual([fixture.tenant.client_id, other.client_id].sort());
  });

  test('jobs of one patient that arrive together share a lane, also if only some of them know the id of the patient', async () => {
    const jobs = [
      newJob({ lane: 'mrn:A1' }),
      newJob({ lane: 'patient:a1', earlier_lane: 'mrn:A1' }),
      newJob({ lane: 'patient:b1', earlier_lane: 'mrn:B1' }),
    ];
    await Promise.all(jobs.map(accept));
    expect((await stored(jobs)).map(({ lane }) => lane)).toStrictEqual(['mrn:A1', 'mrn:A1', 'patient:b1']);
  });
});

describe('one job of many', () => {
  test('one job of many that violates a constraint fails alone', async () => {
    const jobs = [newJob(), newJob({ account_id: newId() }), newJob(), newJob({ key: key() })];
    const results = await Promise.allSettled(jobs.map(accept));
    expect(results.map(({ status }) => status)).toStrictEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: '23503' } });
    expect(await stored(jobs)).toHaveLength(3);
  });

  test('one job of many whose key another transaction holds waits alone, and is stored once the key is free', async () => {
    const held_key = key();
    const release = await holdKey(held_key);
    const jobs = [newJob(), newJob({ key: held_key }), newJob({ key: key() })];
    const [first, waiting, last] = jobs.map(accept);
    expect(await Promise.all([first, last])).toStrictEqual([expect.any(Number), expect.any(Number)]);
    expect(await stored(jobs)).toHaveLength(2);
    await release();
    expect(await waiting).toStrictEqual(expect.any(Number));
    expect(await stored(jobs)).toHaveLength(3);
  });

  test('one job of many that is large is stored by a statement of its own', async () => {
    const large = newJob();
    large.operation.input = { text: 'x'.repeat(100_000) };
    const jobs = [newJob(), large, newJob()];
    await Promise.all(jobs.map(accept));
    const xmins = new Map((await stored(jobs)).map(({ operation_id, xmin }) => [operation_id, xmin]));
    const [first, second, third] = jobs.map(({ operation }) => xmins.get(operation.id));
    expect(first).toBe(third);
    expect(second).not.toBe(first);
  });
});

test('a batch that the database ended for another reason is not repeated, and nothing of it is stored', async () => {
  await fixture.owner.unsafe(`
    CREATE FUNCTION end_statement() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'shutting down' USING ERRCODE = 'admin_shutdown'; END $$;
    CREATE TRIGGER end_statement BEFORE INSERT ON operations FOR EACH ROW WHEN (NEW.type = 'ended')
      EXECUTE FUNCTION end_statement()`);
  const ended = newJob();
  ended.operation.type = 'ended';
  const jobs = [newJob(), ended, newJob()];
  const results = await Promise.allSettled(jobs.map(accept));
  for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { code: '57P01' } });
  expect(await stored(jobs)).toHaveLength(0);
});

test('batches of one client run one after the other, and do not wait for those of another', async () => {
  const running: string[] = [];
  const finish: (() => void)[] = [];
  const batched = createBatches(async (client_id, _writes, work) => {
    running.push(client_id);
    await new Promise<void>((resolve) => finish.push(resolve));
    return work(fixture.db.service);
  });
  const batch = {
    max: 2,
    kind: 'write' as const,
    run: async (_sql: unknown, _client: string, entries: readonly number[]) => entries,
  };
  const results = Promise.all([1, 2, 3].map((n) => batched('busy', batch, n)));
  const other = batched('other', batch, 4);
  await expect.poll(() => running).toStrictEqual(['busy', 'other']);
  finish[1]?.();
  expect(await other).toBe(4);
  finish[0]?.();
  await expect.poll(() => running).toStrictEqual(['busy', 'other', 'busy']);
  finish[2]?.();
  expect(await results).toStrictEqual([1, 2, 3]);
});

describe('a check within the statement', () => {
  /** Every job names a provider. Of a patient, only the MRN `SYN1` is known. */
  const check: ReferenceCheck = (sql) => sql`
    SELECT EXISTS (SELECT FROM providers WHERE providers.organization_id = sent.organization_id
             AND ehr_id = sent.input ->> 'provider_id') AS complete,
           CASE WHEN sent.input ->> 'mrn' = 'SYN1' THEN '0190aaaa-0000-7000-8000-000000000001'::uuid END AS patient_id`;
  const acceptChecked = (job: NewJob) => acceptJob(fixture, job, check);
  const jobFor = (provider_id: string, { mrn = 'SYN9', ...options }: Options & { mrn?: string } = {}) => {
    const job = newJob({ lane: `mrn:${mrn}`, ...options });
    return { ...job, operation: { ...job.operation, input: { provider_id, mrn } } };
  };
  const addProvider = ({ client_id, organization_id }: Tenant, ehr_id: string) => fixture.owner`
    INSERT INTO providers (id, client_id, organization_id, ehr_id, source, doc, source_hash, seen_in)
      VALUES (${newId()}, ${client_id}, ${organization_id}, ${ehr_id}, '{}', '{}', '', 1)`;

  test('stores nothing of a job that it refuses, and all others of the batch', async () => {
    const other = await createTenant(fixture.owner);
    await addProvider(fixture.tenant, 'known');
    await addProvider(other, 'of another client');
    const refused_key = key();
    const jobs = [
      jobFor('known'),
      jobFor('unknown', { key: refused_key, lane: 'mrn:refused' }),
      jobFor('known', { key: key() }),
      jobFor('of another client'),
    ];
    const results = await Promise.all(jobs.map(acceptChecked));
    expect(results.map((result) => (typeof result === 'number' ? 'stored' : result))).toStrictEqual([
      'stored',
      unknown_reference,
      'stored',
      unknown_reference,
    ]);
    expect((await stored(jobs)).map(({ id }) => id)).toStrictEqual([results[0], results[2]]);
    const left = await fixture.owner`
      SELECT 'operation' AS kind FROM operations WHERE id = ${jobs[1]?.operation.id ?? ''}
      UNION ALL SELECT 'key' FROM idempotency_keys WHERE key_hash = ${refused_key}
      UNION ALL SELECT 'lane' FROM lanes WHERE key = 'mrn:refused'`;
    expect(left).toStrictEqual([]);
  });

  test('puts the job of a synced patient into the patient’s lane, unless earlier jobs wait in the one by MRN', async () => {
    await addProvider(fixture.tenant, 'for lanes');
    const readLanes = async (jobs: readonly NewJob[]) => (await stored(jobs)).map(({ lane }) => lane);
    const first = [jobFor('for lanes', { mrn: 'SYN1' }), jobFor('for lanes', { mrn: 'SYN2' })];
    await Promise.all(first.map(acceptChecked));
    expect(await readLanes(first)).toStrictEqual(['patient:0190aaaa000070008000000000000001', 'mrn:SYN2']);
    await accept(newJob({ lane: 'mrn:SYN1' }));
    const later = [jobFor('for lanes', { mrn: 'SYN1' })];
    await Promise.all(later.map(acceptChecked));
    expect(await readLanes(later)).toStrictEqual(['mrn:SYN1']);
  });
});
