import { afterAll, beforeAll, expect, test } from 'vitest';
import { followed_kinds } from '../../../src/model/changes.ts';
import { erase } from '../../../src/product/erasure/erase.ts';
import { findPatientScope } from '../../../src/product/erasure/scopes.ts';
import { readQueueDepth } from '../../../src/product/jobs/queueDepth.ts';
import { checkCursor, checkGeneration, purgeChanges, startGeneration } from '../../../src/product/records/changes.ts';
import { expectApiError, expectSchema } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { complete, examplePatientId } from '../support/completedJobs.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await fixture.api.sync();
});
afterAll(() => fixture.close());

type Change = {
  kind: string;
  id: string;
  emr_id: string | null;
  op: 'upsert' | 'delete';
  changed_at: string;
  record: Record<string, unknown> | null;
};

const get = (query: Record<string, string | number> = {}) => {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return fixture.api.call('GET', `/v1/changes?${new URLSearchParams(parameters)}`);
};

/** Reads the feed to its end, also past other transactions that are in progress. */
async function read(query: Record<string, string | number> = {}): Promise<{ changes: Change[]; cursor: string }> {
  const changes: Change[] = [];
  for (let cursor = String(query.cursor ?? ''); ; ) {
    const { change_lag } = await readQueueDepth(fixture.ctx.db);
    const { status, body } = await get({ ...query, cursor });
    expect(status, JSON.stringify(body)).toBe(200);
    changes.push(...body.changes);
    cursor = body.next_cursor;
    if (!body.has_more && change_lag === 0) return { changes, cursor };
  }
}

/** The records of a kind that the database has. */
async function stored(kind: string) {
  return fixture.owner<{ id: string; doc: Record<string, unknown> }[]>`SELECT id, doc FROM ${fixture.owner(kind)}
    WHERE organization_id = ${(await scope()).organization_id}`;
}

test(row('CHG-01'), async () => {
  expectSchema('changes.list', await get({ limit: 1000 }));
  const { changes } = await read({ limit: 37 });
  expect(new Set(changes.map(({ op }) => op))).toStrictEqual(new Set(['upsert']));
  for (const { name } of followed_kinds) {
    const expected = new Map((await stored(name)).map(({ id, doc }) => [id, doc]));
    const shown = changes.filter(({ kind }) => kind === name);
    expect(shown.length, name).toBe(expected.size);
    for (const { id, record } of shown) expect(record).toStrictEqual(expected.get(id));
  }
  expect(new Set(changes.map(({ kind }) => kind))).toStrictEqual(
    new Set(['patients', 'appointments', 'claims', 'orders']),
  );
  const patient = changes.find(({ kind }) => kind === 'patients');
  expect([patient?.emr_id, patient?.id]).toStrictEqual([patient?.record?.ehr_id, patient?.record?.id]);
  expect(patient?.changed_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test(row('CHG-02'), async () => {
  expect((await get()).body.changes).toHaveLength(200);
  expect((await get({ limit: 1 })).body.changes).toHaveLength(1);
  expect((await get({ limit: 1000 })).status).toBe(200);
  expectApiError(await get({ limit: 1001 }), 400, 'limit must be at most 1000', 'limit');
  expectApiError(await get({ limit: 0 }), 400, 'limit must be at least 1', 'limit');
  expectApiError(await get({ limit: 'many' }), 400, /^limit must be an integer/, 'limit');
});

test(row('CHG-03'), async () => {
  const { changes } = await read({ kinds: 'claims, orders', limit: 50 });
  expect(new Set(changes.map(({ kind }) => kind))).toStrictEqual(new Set(['claims', 'orders']));
  expect(changes.length).toBe((await stored('claims')).length + (await stored('orders')).length);
  for (const kinds of ['staff', 'patients,', 'Patients', 'patients,providers']) {
    expectApiError(await get({ kinds }), 400, /^kinds contains an unknown kind: /, 'kinds');
  }
  expectApiError(await get({ kinds: '' }), 400, /^kinds/, 'kinds');
});

test(row('CHG-04'), async () => {
  const { body } = await get({ cursor: 'latest' });
  expect([body.changes, body.has_more]).toStrictEqual([[], false]);
  const patient_id = await examplePatientId(fixture);
  await complete(fixture, `/v1/patients/${patient_id}`, { email: 'latest@example.test' }, 'PATCH');
  const { changes } = await read({ cursor: body.next_cursor });
  expect(changes.map(({ kind, id, op, record }) => [kind, id, op, record?.email])).toStrictEqual([
    ['patients', patient_id, 'upsert', 'latest@example.test'],
  ]);
  expect((await get({ cursor: '', limit: 3 })).body.changes).toStrictEqual((await get({ limit: 3 })).body.changes);
});

test(row('CHG-05'), async () => {
  const { cursor } = await read({ limit: 1000 });
  const { accepted } = await complete(fixture, '/v1/patients', {
    ...{ first_name: 'Feed', last_name: 'Reader', dob: '1990-05-05', sex: 'female' },
  });
  const [claim] = await fixture.owner<{ id: string; ehr_id: string }[]>`
    DELETE FROM claims WHERE id = (SELECT id FROM claims ORDER BY id LIMIT 1) RETURNING id, ehr_id`;
  const { changes } = await read({ cursor });
  const created = changes.find(({ id }) => id === accepted.patient_id);
  expect(created).toMatchObject({ kind: 'patients', op: 'upsert', record: { first_name: 'Feed', status: 'active' } });
  expect(created?.emr_id).toBe(created?.record?.ehr_id);
  expect(changes.find(({ id }) => id === claim?.id)).toStrictEqual({
    ...{ kind: 'claims', id: claim?.id, emr_id: claim?.ehr_id, op: 'delete', record: null },
    changed_at: expect.any(String),
  });
  // A reader that starts now never had it.
  expect((await read({ limit: 1000 })).changes.filter(({ op }) => op === 'delete')).toStrictEqual([]);
});

test(row('CHG-06'), async () => {
  // What our own writes stored is compared again by the next sync, and so is a row whose hash is unknown.
  await fixture.api.sync();
  const { cursor } = await read({ limit: 1000 });
  for (const { name } of followed_kinds) await fixture.owner`UPDATE ${fixture.owner(name)} SET source_hash = ''`;
  await fixture.api.sync();
  expect((await read({ cursor })).changes).toStrictEqual([]);
});

test(row('CHG-07'), async () => {
  const { client_id, organization_id } = await scope();
  const [target] = await fixture.owner<{ id: string; mrn: string; ehr_id: string }[]>`
    SELECT id, mrn, ehr_id FROM patients WHERE organization_id = ${organization_id}
       AND mrn IN (SELECT patient_mrn FROM claims) AND mrn <> ${fixture.sandbox.example.patient_mrn} LIMIT 1`;
  if (!target) throw new Error('No patient has a claim.');
  const { cursor } = await read({ limit: 1000 });
  const erasure = await findPatientScope(fixture.ctx, { client_id, organization_id }, target.id);
  await erase(fixture.ctx, erasure, async () => {});
  const { changes } = await read({ cursor });
  expect(changes.find(({ id }) => id === target.id)).toMatchObject({ op: 'delete', emr_id: null, record: null });
  const kinds = new Set(changes.filter(({ op }) => op === 'delete').map(({ kind }) => kind));
  expect(kinds).toContain('claims');
  expect(changes.filter(({ op, emr_id }) => op === 'delete' && emr_id !== null)).toStrictEqual([]);
});

test(row('CHG-08'), async () => {
  const { next_cursor } = (await get({ kinds: 'patients', limit: 2 })).body;
  const other = await fixture.api.link({ user_id: 'feed-user', org_id: 'feed-org', staff: 1 });
  const rule = /^cursor must be the next_cursor of an earlier page/;
  const as_other = { headers: { access_token: other } };
  expectApiError(await fixture.api.call('GET', `/v1/changes?cursor=${next_cursor}`, as_other), 400, rule, 'cursor');
  const flipped = next_cursor.slice(0, -1) + (next_cursor.endsWith('A') ? 'B' : 'A');
  for (const forged of [flipped, `${next_cursor}AA`, next_cursor.slice(0, 20), 'null', 'LATEST', '0']) {
    expectApiError(await get({ cursor: forged }), 400, rule, 'cursor');
  }
  expectApiError(
    await get({ cursor: next_cursor, kinds: 'claims' }),
    400,
    /^kinds must be those of the first page/,
    'kinds',
  );
  // Omitted, they are those of the cursor.
  const { changes } = (await get({ cursor: next_cursor })).body;
  expect(new Set(changes.map(({ kind }: Change) => kind))).toStrictEqual(new Set(['patients']));
  // The list of another resource has cursors of its own.
  const listed = (await fixture.api.call('GET', '/v1/patients?cursor=&page_size=1')).body.pagination.next_cursor;
  expectApiError(await get({ cursor: listed }), 400, rule, 'cursor');
});

test(row('CHG-09'), async () => {
  const state = { generation: 3, timeline: 1, now_ms: Date.now(), branches: [] };
  const issued = { generation: 3, timeline: 1, wal: '0/100', complete_at: Date.now() - 29.9 * 86_400_000 };
  expect(() => checkCursor(issued, state)).not.toThrow();
  const old = { ...issued, complete_at: Date.now() - 30.1 * 86_400_000 };
  expect(() => checkCursor(old, state)).toThrow(/Read the changes again from the beginning/);
});

test(row('CHG-10'), async () => {
  const { cursor } = await read({ limit: 1000 });
  const [first, second] = await fixture.owner<{ id: string }[]>`SELECT id FROM claims ORDER BY id DESC LIMIT 2`;
  const change = (id: string | undefined) =>
    fixture.owner`UPDATE claims SET doc = (doc::jsonb || '{"billing_notes":"moved"}')::json WHERE id = ${id ?? ''}`;
  let lag = 0;
  await fixture.owner.begin(async (tx) => {
    // The transaction has an id, and commits after one that began later.
    await tx`UPDATE claims SET doc = (doc::jsonb || '{"billing_notes":"first"}')::json WHERE id = ${first?.id ?? ''}`;
    await change(second?.id);
    const page = (await get({ cursor })).body;
    expect([page.changes, page.has_more]).toStrictEqual([[], false]);
    await fixture.owner`UPDATE record_changes SET changed_at = changed_at - interval '2 minutes'
      WHERE record_id = ${second?.id ?? ''}`;
    lag = (await readQueueDepth(fixture.ctx.db)).change_lag;
  });
  expect(lag).toBeGreaterThan(119);
  const { changes } = await read({ cursor });
  expect(changes.map(({ id }) => id)).toStrictEqual([first?.id, second?.id]);
  expect(changes[0]?.record?.billing_notes).toBe('first');
  expect((await readQueueDepth(fixture.ctx.db)).change_lag).toBe(0);
});

test(row('CHG-11'), async () => {
  const { cursor, changes: before } = await read({ limit: 1000 });
  await startGeneration(fixture.owner);
  const response = await get({ cursor });
  expectApiError(response, 410, /^This cursor is no longer valid/);
  expect(response.body.code).toBe('cursor_expired');
  const { changes, cursor: later } = await read({ limit: 100 });
  expect(new Set(changes.map(({ id }) => id))).toStrictEqual(new Set(before.map(({ id }) => id)));
  // Changes of the new generation come after those of the old one.
  await fixture.owner`DELETE FROM orders WHERE id = (SELECT id FROM orders LIMIT 1)`;
  expect((await read({ cursor: later })).changes.map(({ op }) => op)).toStrictEqual(['delete']);
});

test(row('CHG-12'), async () => {
  const generation = async () =>
    (await fixture.owner<{ n: number }[]>`SELECT max(generation) AS n FROM change_generations`)[0]?.n ?? 0;
  const unchanged = await generation();
  await checkGeneration(fixture.ctx.db.system);
  expect(await generation()).toBe(unchanged);
  const { cursor } = await read({ limit: 1000 });
  await fixture.owner`UPDATE change_generations SET system_identifier = 1 WHERE generation = ${unchanged}`;
  await checkGeneration(fixture.ctx.db.system);
  expect(await generation()).toBe(unchanged + 1);
  expectApiError(await get({ cursor }), 410, /^This cursor is no longer valid/);
  const { cursor: next } = await read({ limit: 1000 });
  // The transaction ids of the cluster were reset: one of before is in the future.
  await fixture.owner`UPDATE record_changes SET generation = ${unchanged + 1}, xid = xid + 1000000
    WHERE record_id = (SELECT id FROM patients LIMIT 1)`;
  await checkGeneration(fixture.ctx.db.system);
  expect(await generation()).toBe(unchanged + 2);
  expectApiError(await get({ cursor: next }), 410, /^This cursor is no longer valid/);
  // It is complete, whatever its ids are.
  expect((await read({ limit: 1000 })).changes.filter(({ kind }) => kind === 'patients')).toHaveLength(
    (await stored('patients')).length,
  );
});

test(row('CHG-13'), async () => {
  const now_ms = Date.now();
  const cursor = { generation: 1, timeline: 1, wal: '0/5000000', complete_at: now_ms };
  const after =
    (timeline: number, ...branches: [timeline: number, branched_at: string | null][]) =>
    () =>
      checkCursor(cursor, {
        ...{ generation: 1, timeline, now_ms },
        branches: branches.map(([each, branched_at]) => ({ timeline: each, branched_at })),
      });
  expect(after(1, [1, null])).not.toThrow();
  expect(after(2, [1, null], [2, '0/5000000'])).not.toThrow();
  expect(after(2, [2, '1/0'])).not.toThrow();
  const lost = /no longer valid/;
  expect(after(2, [2, '0/4FFFFFF'])).toThrow(lost);
  expect(after(2, [2, null])).toThrow(lost);
  expect(after(2)).toThrow(lost);
  // A second failover that kept everything does not bring back what the first one lost, or may have lost unnoticed.
  expect(after(3, [2, '0/4FFFFFF'], [3, '1/0'])).toThrow(lost);
  expect(after(3, [3, '1/0'])).toThrow(lost);
  expect(after(3, [2, '0/5000001'], [3, '1/0'])).not.toThrow();
  const [noticed] = await fixture.owner<{ timeline: number }[]>`SELECT timeline FROM change_timelines LIMIT 1`;
  expect(noticed?.timeline).toBeGreaterThan(0);
});

test(row('CHG-14'), async () => {
  const { organization_id } = await scope();
  const gone = await fixture.owner<{ id: string }[]>`DELETE FROM claims WHERE id IN (
    SELECT id FROM claims WHERE organization_id = ${organization_id} ORDER BY id LIMIT 2) RETURNING id`;
  const [expired, recent] = gone.map(({ id }) => id);
  const age = (id: string | undefined, days: number) => fixture.owner`
    UPDATE record_changes SET changed_at = now() - make_interval(days => ${days}) WHERE record_id = ${id ?? ''}`;
  await age(expired, 33);
  await age(recent, 30);
  await age((await stored('claims'))[0]?.id, 400);
  await purgeChanges(fixture.ctx.db.system);
  const rows = await fixture.owner<{ record_id: string }[]>`SELECT record_id FROM record_changes WHERE deleted`;
  const ids = rows.map(({ record_id }) => record_id);
  expect([ids.includes(expired ?? ''), ids.includes(recent ?? '')]).toStrictEqual([false, true]);
  const [{ n } = { n: 0 }] = await fixture.owner<{ n: number }[]>`
    SELECT count(*) AS n FROM record_changes
     WHERE organization_id = ${organization_id} AND kind = 'claims' AND NOT deleted`;
  expect(n).toBe((await stored('claims')).length);
});

async function scope(): Promise<{ client_id: string; organization_id: string }> {
  const [account] = await fixture.owner<{ client_id: string; organization_id: string }[]>`
    SELECT accounts.client_id, organization_id FROM accounts JOIN organizations ON organizations.id = organization_id
     WHERE org_id = ${fixture.sandbox.org_id} LIMIT 1`;
  if (!account) throw new Error('The sandbox has no account.');
  return account;
}
