import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Evidence, LedgerEntry, Received } from '../../scripts/soak/check/evidence.ts';
import { invariants } from '../../scripts/soak/check/invariants.ts';
import { tokenOf } from '../../scripts/soak/mixed/requests.ts';
import { connect, type Sql } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { newId } from '../../src/ids.ts';
import { type FreshDatabase, freshDatabase, template } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

/** The invariants as a run leaves them, and then each broken in one way. */

const url = 'http://127.0.0.1:1/hook';
const lane = 'patient:1';
let database: FreshDatabase;
let sql: Sql;
let tenant: Tenant;
let evidence: {
  sql: Sql;
  acknowledged: Evidence['acknowledged'][number][];
  received: Received[];
  ledger: LedgerEntry[];
};

beforeAll(async () => {
  database = await freshDatabase('soak', await template('soak', migrate));
  // No triggers and no foreign keys: what is planted is what they prevent.
  sql = connect(database.address, { max: 1, settings: { session_replication_role: 'replica' } });
  await sql`DROP INDEX events_terminal`;
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

beforeEach(async () => {
  await sql`TRUNCATE clients, organizations, accounts, operations, jobs, job_steps, lanes, events, webhook_endpoints,
    deliveries, audit_records, data_keys RESTART IDENTITY CASCADE`;
  tenant = await createTenant(sql);
  await sql`INSERT INTO webhook_endpoints (id, client_id, url) VALUES ('wh_1', ${tenant.client_id}, ${url})`;
  await addKey('mk_1');
  evidence = { sql, acknowledged: [], received: [], ledger: [] };
  for (const n of [1, 2]) await addFinishedJob(n);
});

const broken = async () => {
  const names: string[] = [];
  for (const { name, check } of invariants) if ((await check(evidence)).violations.length > 0) names.push(name);
  return names;
};

test('a run without violations breaks no invariant, and every invariant has something to check', async () => {
  expect(await broken()).toStrictEqual([]);
  const empty: string[] = [];
  for (const { name, check } of invariants) if ((await check(evidence)).checked === 0) empty.push(name);
  // Lanes end with their jobs, and no job failed.
  expect(empty).toStrictEqual([
    'no lane is left without a job',
    'every failure has a documented code and a readable text',
    'no write that failed was applied in the EMR',
  ]);
});

const every_job_finished = 'every job has finished';
const one_event = 'every finished job has exactly one event';
const failure_text = 'every failure has a documented code and a readable text';

describe('a planted violation is found:', () => {
  const planted: [string, () => unknown, string[]][] = [
    [
      'a job that is gone',
      () => evidence.acknowledged.push({ token: tokenOf(3), kind: 'x', job_id: '999', operation_id: null }),
      ['every acknowledged write has its job'],
    ],
    [
      'an operation that is gone',
      () => evidence.acknowledged.push({ token: tokenOf(3), kind: 'x', job_id: null, operation_id: newId() }),
      ['every acknowledged write has its job'],
    ],
    [
      'a second operation of one request',
      () => addOperation(1),
      ['a write repeated with its Idempotency-Key has one operation'],
    ],
    ['an unfinished job', () => addUnfinishedJob({ with_lane: true }), [every_job_finished]],
    [
      'an unfinished job without a lane',
      () => addUnfinishedJob({ with_lane: false }),
      [every_job_finished, 'no unfinished job is outside a lane and a parking place'],
    ],
    ['an empty lane', () => addLane(), ['no lane is left without a job']],
    ['a second event', () => addEvent(1, newId()), [one_event, 'every event has a delivery to every endpoint']],
    [
      'a missing event',
      async () => {
        await sql`UPDATE jobs SET event_id = NULL WHERE id = 1`;
        await sql`UPDATE events SET job_id = NULL WHERE job_id = 1`;
      },
      [one_event],
    ],
    [
      'a failure event of a job that succeeded',
      () => sql`UPDATE events SET type = 'telephone_encounter.failed' WHERE job_id = 1`,
      ['the event of a job agrees with its state'],
    ],
    [
      'a job that needs a review',
      () => fail('needs_review', 'outcome_unknown', 'Check in the EMR.'),
      ['no write needs a review, because this EMR can be searched', 'every finished job has its audit record'],
    ],
    [
      'an undocumented code',
      () => failUnapplied('no_such_code', 'Failed.'),
      [failure_text, 'every finished job has its audit record'],
    ],
    [
      'a page of the EMR in an error text',
      () => failUnapplied('emr_refused', '<html><body>Maintenance</body></html>'),
      [failure_text, 'every finished job has its audit record'],
    ],
    [
      'a write that was applied twice',
      () => evidence.ledger.push(...evidence.ledger.slice(1)),
      ['no write was applied twice in the EMR'],
    ],
    [
      'a write that was not applied',
      () => evidence.ledger.pop(),
      ['every write that succeeded was applied in the EMR'],
    ],
    [
      'a failed write that was applied',
      () => fail('failed', 'emr_refused', 'Refused.'),
      ['no write that failed was applied in the EMR', 'every finished job has its audit record'],
    ],
    [
      'a write that the service does not know',
      () => evidence.ledger.push({ ...entryOf('ffff-step'), applied: false }),
      ['the EMR has no write without an intent'],
    ],
    [
      'two writes of a patient in the wrong order',
      () => evidence.ledger.reverse(),
      ['the writes of a patient were applied in the order of acceptance'],
    ],
    [
      'a missing delivery',
      () => sql`DELETE FROM deliveries WHERE event_id = (SELECT event_id FROM jobs WHERE id = 1)`,
      ['every event has a delivery to every endpoint'],
    ],
    [
      'a delivery that was given up',
      () => sql`UPDATE deliveries SET status = 'failed' WHERE event_id = (SELECT event_id FROM jobs WHERE id = 1)`,
      ['every delivery succeeded or is still to be retried'],
    ],
    ['a delivery that nobody received', () => evidence.received.pop(), ['every delivery that succeeded was received']],
    [
      'a webhook with another body',
      () => evidence.received.push({ ...received(newId(), 'another'), status: 500 }),
      ['every received webhook is an event, byte by byte'],
    ],
    [
      'a webhook with a wrong signature',
      () => evidence.received.push(...evidence.received.slice(1).map((each) => ({ ...each, valid: false }))),
      ['every received webhook has a valid signature and timestamp'],
    ],
    [
      'a job without an audit record',
      () => sql`DELETE FROM audit_records WHERE job_id = 1`,
      ['every finished job has its audit record'],
    ],
    ['a key under an earlier master key', () => addKey('mk_0'), ['all keys are encrypted by one master key']],
  ];

  test.each(planted)('%s', async (_what, plant, names) => {
    await plant();
    expect(await broken()).toStrictEqual(names);
  });

  test('at least one of each invariant', () => {
    const found = new Set(planted.flatMap(([, , names]) => names));
    expect(invariants.map(({ name }) => name).filter((name) => !found.has(name))).toStrictEqual([]);
  });
});

async function addOperation(n: number): Promise<string> {
  const id = newId();
  const { client_id, organization_id, account_id } = tenant;
  await sql`INSERT INTO operations ${sql.values({
    ...{ id, client_id, organization_id, account_id, type: 'telephone_encounter.create' },
    input: sql.json({ reason: tokenOf(n) }),
  })}`;
  return id;
}

async function addJob(operation_id: string, more: object): Promise<number> {
  const { client_id, organization_id, account_id } = tenant;
  const [job] = await sql<{ id: number }[]>`INSERT INTO jobs ${sql.values({
    ...{ operation_id, client_id, organization_id, account_id, type: 'telephone_encounter.create', lane, ...more },
  })} RETURNING id`;
  return job?.id ?? 0;
}

async function addFinishedJob(n: number): Promise<void> {
  const operation_id = await addOperation(n);
  const event_id = newId();
  const id = await addJob(operation_id, { state: 'succeeded', finished_at: new Date(), event_id });
  const marker = `${operation_id}-create_encounter`;
  const { client_id, account_id } = tenant;
  await sql`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, detail)
    VALUES (${id}, ${client_id}, 1, 'create_encounter', 'intent', ${sql.json({ marker })})`;
  const body = await addEvent(id, event_id);
  await sql`INSERT INTO deliveries (id, client_id, event_id, endpoint_id, status, ready_at)
    VALUES (${newId()}, ${client_id}, ${event_id}, 'wh_1', 'success', NULL)`;
  await sql`INSERT INTO audit_records (id, at, client_id, actor_kind, actor, account_id, action, outcome, job_id, patients, mac)
    VALUES (${newId()}, now(), ${client_id}, 'worker', 'worker', ${account_id}, 'job.telephone_encounter.create',
      'succeeded', ${id}, '{}', ${randomBytes(32)})`;
  evidence.acknowledged.push({ token: tokenOf(n), kind: 'telephone_encounter', job_id: `${id}`, operation_id: null });
  evidence.received.push(received(event_id, body));
  evidence.ledger.push(entryOf(marker));
}

async function addEvent(job_id: number, id: string): Promise<string> {
  const body = JSON.stringify({ job_id });
  const { client_id, account_id } = tenant;
  await sql`INSERT INTO events (id, client_id, account_id, job_id, type, body)
    VALUES (${id}, ${client_id}, ${account_id}, ${job_id}, 'telephone_encounter.created', ${body})`;
  return body;
}

async function addUnfinishedJob({ with_lane }: { with_lane: boolean }): Promise<void> {
  await addJob(await addOperation(3), {});
  if (with_lane) await addLane();
}

async function addLane(): Promise<void> {
  const { client_id, organization_id, account_id } = tenant;
  await sql`INSERT INTO lanes ${sql.values({ client_id, organization_id, account_id, key: lane, parallel_max: 1 })}`;
}

async function fail(state: string, code: string, message: string): Promise<void> {
  await sql`UPDATE jobs SET state = ${state}, error = ${sql.json({ code, message })} WHERE id = 2`;
  await sql`UPDATE events SET type = 'telephone_encounter.failed' WHERE job_id = 2`;
}

async function failUnapplied(code: string, message: string): Promise<void> {
  await fail('failed', code, message);
  evidence.ledger.pop();
}

async function addKey(master_key_id: string): Promise<void> {
  await sql`INSERT INTO data_keys ${sql.values({
    ...{ id: newId(), client_id: tenant.client_id, owner_id: newId(), master_key_id, wrapped: randomBytes(8) },
  })}`;
}

function entryOf(marker: string): LedgerEntry {
  const at = new Date(Date.now() + 1_000).toISOString();
  return { operation: 'create_telephone_encounter', marker, patient_mrn: 'LK100001', at, applied: true };
}

function received(webhook_id: string, body: string): Received {
  const body_sha256 = createHash('sha256').update(body).digest('hex');
  return { url, webhook_id, attempt: 1, status: 204, valid: true, body_sha256 };
}
