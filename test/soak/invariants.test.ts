import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type {
  CachedRead,
  Evidence,
  Interruption,
  LedgerEntry,
  Received,
  TokenUse,
} from '../../scripts/soak/check/evidence.ts';
import { invariants } from '../../scripts/soak/check/invariants.ts';
import { composeToken } from '../../scripts/soak/mixed/requests.ts';
import { newId } from '../../src/catalog/ids.ts';
import { connect, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { type FreshDatabase, freshDatabase, template } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

/** The invariants as a run leaves them, and then each broken in one way. */

const url = 'http://127.0.0.1:1/hook';
const lane = 'patient:1';
const emr = 'http://127.0.0.1:2/fhir/R4';
const emr_user = 'Practitioner/prac-1';
const now = Date.now();
let database: FreshDatabase;
let sql: Sql;
let tenant: Tenant;
let evidence: {
  sql: Sql;
  acknowledged: Evidence['acknowledged'][number][];
  received: Received[];
  ledger: LedgerEntry[];
  token_uses: TokenUse[];
  interruptions: Interruption[];
  reads: CachedRead[];
  database_log: string[];
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
  await sql`UPDATE organizations SET emr_address = ${emr}`;
  await sql`UPDATE accounts SET emr_user_id = ${emr_user}`;
  evidence = {
    ...{ sql, acknowledged: [], received: [], ledger: [], interruptions: [], database_log: ['LOG:  ready'] },
    token_uses: [redemption('a', now), { kind: 'credential', emr, sha256: 'a', issued_here: true }],
    reads: [{ record_id: newId(), job_id: '1', seen: composeToken(1) }],
  };
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
  // Lanes end with their jobs, no job failed, and no account asked for a sign-in.
  expect(empty).toStrictEqual([
    'no lane is left without a job',
    'every failure has a documented code and a readable text',
    'no write that failed was applied in the EMR',
    unneeded_sign_in,
  ]);
});

const every_job_finished = 'every job has finished';
const one_event = 'every finished job has exactly one event';
const unneeded_sign_in = 'no account asked for a sign-in that was not needed';
const repeated_webhook = 'no webhook was sent again after it was accepted, unless a crash came between';
const redeemed_twice = 'a refresh token was redeemed once, unless the process that redeemed it was killed';
const older_state = 'a read after an event returned at least its state';
const failure_text = 'every failure has a documented code and a readable text';

describe('a planted violation is found:', () => {
  const planted: [string, () => unknown, string[]][] = [
    [
      'a job that is gone',
      () => evidence.acknowledged.push({ token: composeToken(3), kind: 'x', job_id: '999', operation_id: null }),
      ['every acknowledged write has its job'],
    ],
    [
      'an operation that is gone',
      () => evidence.acknowledged.push({ token: composeToken(3), kind: 'x', job_id: null, operation_id: newId() }),
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
      () => sql`UPDATE events SET type = 'patient.update_failed' WHERE job_id = 1`,
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
      () => evidence.ledger.push({ ...unknownEntry('ffff-step'), applied: false }),
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
      () => evidence.received.push(...evidence.received.splice(1).map((each) => ({ ...each, valid: false }))),
      ['every received webhook has a valid signature and timestamp'],
    ],
    [
      'a job without an audit record',
      () => sql`DELETE FROM audit_records WHERE job_id = 1`,
      ['every finished job has its audit record'],
    ],
    ['an accepted webhook that was sent again', () => repeatWebhook(), [repeated_webhook]],
    [
      'a deadlock',
      () => evidence.database_log.push('LOG:  process 7 detected deadlock while waiting for ShareLock'),
      ['the database found no deadlock'],
    ],
    ['a sign-in that nothing explains', () => addSignInRequest(now), [unneeded_sign_in]],
    [
      'a sign-in of an account that had been re-linked since the EMR ended the last one',
      async () => {
        evidence.interruptions.push(endedGrants(now - 3_000), linked(now - 2_000));
        await addSignInRequest(now);
      },
      [unneeded_sign_in],
    ],
    [
      'a second sign-in that the EMR ended once',
      async () => {
        evidence.interruptions.push(endedGrants(now - 3_000));
        for (const at of [now - 2_000, now]) await addSignInRequest(at);
      },
      [unneeded_sign_in],
    ],
    ['a refresh token that was redeemed twice', () => evidence.token_uses.push(redemption('a', now)), [redeemed_twice]],
    [
      'a cached read of an earlier state',
      () => evidence.reads.push({ record_id: newId(), job_id: '2', seen: composeToken(1) }),
      [older_state],
    ],
    [
      'a cached read of none of the states',
      () => evidence.reads.push({ record_id: newId(), job_id: '1', seen: null }),
      [older_state],
    ],
    [
      'a token at another EMR',
      () => evidence.token_uses.push({ kind: 'credential', emr, sha256: 'b', issued_here: false }),
      ['no EMR received a credential that it had not issued'],
    ],
    [
      'a write as another user of the EMR',
      () => {
        evidence.ledger = evidence.ledger.map((entry) => ({ ...entry, emr_user: 'Practitioner/prac-2' }));
      },
      ['every write was sent as the EMR user of its account'],
    ],
    ['a key under an earlier master key', () => addKey('mk_0'), ['all keys are encrypted by one master key']],
  ];

  test.each(planted)('%s', async (_what, plant, names) => {
    await plant();
    expect(await broken()).toStrictEqual(names);
  });

  test('a violation of each invariant is planted', () => {
    const planted_names = new Set(planted.flatMap(([, , names]) => names));
    expect(invariants.map(({ name }) => name).filter((name) => !planted_names.has(name))).toStrictEqual([]);
  });
});

describe('is no violation:', () => {
  const listHeld = () => evidence.received.map(({ webhook_id }) => ({ url, webhook_id }));
  const explained: [string, () => unknown][] = [
    [
      'a webhook that a killed worker was about to store',
      () => {
        repeatWebhook();
        evidence.interruptions.push({
          kind: 'process',
          frozen_until: null,
          at: now + 100,
          deliveries: listHeld(),
          renewals: [],
        });
      },
    ],
    [
      'a webhook that a worker was sending when it was frozen, and that arrived when it went on',
      () => {
        repeatWebhook();
        const frozen = { at: now - 17_900, frozen_until: now + 100 };
        evidence.interruptions.push({ kind: 'process', ...frozen, deliveries: listHeld(), renewals: [] });
      },
    ],
    [
      'a webhook that could not be stored while the database was down',
      () => {
        repeatWebhook();
        evidence.interruptions.push({ kind: 'database', at: now - 1_000, until: now + 3_000 });
      },
    ],
    [
      'a webhook that waited for what a frozen worker had locked when the database went down',
      () => {
        repeatWebhook();
        evidence.interruptions.push({
          kind: 'process',
          frozen_until: now + 18_700,
          at: now + 700,
          deliveries: [],
          renewals: [],
        });
        evidence.interruptions.push({ kind: 'database', at: now + 10_300, until: now + 12_300 });
      },
    ],
    [
      'a token of an ended sign-in that was sent twice and refused',
      () => {
        const refused = redemption('ended', now, false);
        evidence.token_uses.push(refused, refused);
      },
    ],
    [
      'a cached read of a later state',
      () => evidence.reads.push({ record_id: newId(), job_id: '1', seen: composeToken(2) }),
    ],
    [
      'a sign-in that the EMR ended',
      async () => {
        evidence.interruptions.push(linked(now - 9_000), endedGrants(now - 3_000));
        await addSignInRequest(now);
      },
    ],
    [
      'a sign-in and a second redemption, because a process was killed during the first',
      async () => {
        const [account] = await sql<{ id: string }[]>`SELECT id::text FROM accounts`;
        const renewals = [account?.id ?? ''];
        evidence.interruptions.push({ kind: 'process', frozen_until: null, at: now - 3_000, deliveries: [], renewals });
        evidence.token_uses.push(redemption('a', now));
        await addSignInRequest(now);
      },
    ],
  ];

  test.each(explained)('%s', async (_what, plant) => {
    await plant();
    expect(await broken()).toStrictEqual([]);
  });

  test('a webhook that another worker sent again is a violation', async () => {
    repeatWebhook();
    const deliveries = [{ url, webhook_id: newId() }];
    evidence.interruptions.push({ kind: 'process', frozen_until: null, at: now + 100, deliveries, renewals: [] });
    expect(await broken()).toStrictEqual([repeated_webhook]);
  });

  test('a webhook or a redemption that a process was interrupted in long before is a violation', async () => {
    repeatWebhook();
    evidence.token_uses.push(redemption('a', now + 1_000));
    const [account] = await sql<{ id: string }[]>`SELECT id::text FROM accounts`;
    const renewals = [account?.id ?? ''];
    evidence.interruptions.push({
      kind: 'process',
      frozen_until: null,
      at: now - 60_000,
      deliveries: listHeld(),
      renewals,
    });
    expect(await broken()).toStrictEqual([repeated_webhook, redeemed_twice]);
  });

  test('a webhook that was sent again after a freeze alone, or after a crash that came too late for it, is a violation', async () => {
    repeatWebhook();
    evidence.interruptions.push({
      kind: 'process',
      frozen_until: now + 18_700,
      at: now + 700,
      deliveries: [],
      renewals: [],
    });
    expect(await broken()).toStrictEqual([repeated_webhook]);
    evidence.interruptions.splice(0, 1, { kind: 'database', at: now + 10_300, until: now + 12_300 });
    expect(await broken()).toStrictEqual([repeated_webhook]);
  });

  test('a refused refresh token that had been redeemed before is a violation', async () => {
    evidence.token_uses.push(redemption('a', now + 1_000, false));
    expect(await broken()).toStrictEqual([redeemed_twice]);
  });

  test('a webhook that was accepted long before the database was down is a violation', async () => {
    repeatWebhook();
    evidence.interruptions.push({ kind: 'database', at: now + 60_000, until: now + 63_000 });
    expect(await broken()).toStrictEqual([repeated_webhook]);
  });
});

/** The first webhook arrives once more, long after it was accepted. */
function repeatWebhook(): void {
  evidence.received.push(...evidence.received.slice(0, 1).map((each) => ({ ...each, at: now + 30_000 })));
}

/** The client has no endpoint for this event, so that no delivery is missing. */
async function addSignInRequest(at: number): Promise<void> {
  const { client_id, account_id } = tenant;
  await sql`UPDATE webhook_endpoints SET event_types = '{patient.updated}'`;
  await sql`INSERT INTO events (id, client_id, account_id, type, body, created_at)
    VALUES (${newId()}, ${client_id}, ${account_id}, 'login_required', '{}', ${new Date(at)})`;
}

function endedGrants(at: number): Interruption {
  return { kind: 'grants', at, users: [user()] };
}

function linked(at: number): Interruption {
  return { kind: 'linked', at, until: at + 500, user: user() };
}

function user() {
  return { org_id: tenant.organization_id, user_id: tenant.account_id };
}

function redemption(token_sha256: string, at: number, accepted = true): TokenUse {
  return { kind: 'redemption', at, emr, emr_user, token_sha256, accepted };
}

async function addOperation(n: number): Promise<string> {
  const id = newId();
  const { client_id, organization_id, account_id } = tenant;
  await sql`INSERT INTO operations ${sql.values({
    ...{ id, client_id, organization_id, account_id, type: 'patient.update' },
    input: sql.json({ reason: composeToken(n) }),
  })}`;
  return id;
}

async function addJob(operation_id: string, more: object): Promise<number> {
  const { client_id, organization_id, account_id } = tenant;
  const [job] = await sql<{ id: number }[]>`INSERT INTO jobs ${sql.values({
    ...{ operation_id, client_id, organization_id, account_id, type: 'patient.update', lane, ...more },
  })} RETURNING id`;
  return job?.id ?? 0;
}

async function addFinishedJob(n: number): Promise<void> {
  const operation_id = await addOperation(n);
  const event_id = newId();
  const id = await addJob(operation_id, { state: 'succeeded', finished_at: new Date(now + n * 1_000), event_id });
  const marker = `${operation_id}-update_patient`;
  const { client_id, account_id } = tenant;
  await sql`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, detail)
    VALUES (${id}, ${client_id}, 1, 'update_patient', 'intent', ${sql.json({ marker })})`;
  const body = await addEvent(id, event_id);
  await sql`INSERT INTO deliveries (id, client_id, event_id, endpoint_id, status, ready_at)
    VALUES (${newId()}, ${client_id}, ${event_id}, 'wh_1', 'success', NULL)`;
  await sql`INSERT INTO audit_records (id, at, client_id, actor_kind, actor, account_id, action, outcome, job_id, patients, mac)
    VALUES (${newId()}, now(), ${client_id}, 'worker', 'worker', ${account_id}, 'job.patient.update',
      'succeeded', ${id}, '{}', ${randomBytes(32)})`;
  evidence.acknowledged.push({ token: composeToken(n), kind: 'patient.update', job_id: `${id}`, operation_id: null });
  evidence.received.push(received(event_id, body));
  evidence.ledger.push(createEntry(marker));
}

async function addEvent(job_id: number, id: string): Promise<string> {
  const body = JSON.stringify({ job_id });
  const { client_id, account_id } = tenant;
  await sql`INSERT INTO events (id, client_id, account_id, job_id, type, body)
    VALUES (${id}, ${client_id}, ${account_id}, ${job_id}, 'patient.updated', ${body})`;
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
  await sql`UPDATE events SET type = 'patient.update_failed' WHERE job_id = 2`;
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

function createEntry(marker: string): LedgerEntry {
  return { ...unknownEntry(marker), emr_user };
}

function unknownEntry(marker: string): LedgerEntry {
  const at = new Date(Date.now() + 1_000).toISOString();
  return { operation: 'PUT Patient', marker, patient_mrn: null, at, applied: true };
}

function received(webhook_id: string, body: string): Received {
  const body_sha256 = createHash('sha256').update(body).digest('hex');
  return { at: now, url, webhook_id, attempt: 1, status: 204, valid: true, body_sha256 };
}
