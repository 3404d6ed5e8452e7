import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { openAudit } from '../../src/product/audit/openAudit.ts';
import { createFollowedRecords, sealAudit, sealLastRecords } from '../../src/product/audit/seals.ts';
import { faults_max, verifyAudit } from '../../src/product/audit/verification.ts';
import type { AuditEntry } from '../../src/product/context.ts';
import { until } from '../journeys/support.ts';
import { createTrail, type TrailFixture } from './fixture.ts';

let fixture: TrailFixture;
beforeEach(async () => {
  await fixture?.close();
  fixture = await createTrail();
});
afterAll(() => fixture.close());

const entry = (subject = newId()): AuditEntry => ({
  client_id: fixture.tenant.client_id,
  actor_kind: 'client',
  actor: 'ci_test_1',
  action: 'patients.list',
  outcome: '200',
  subject,
});
const record = async (subject?: string) => fixture.ctx.audit.record(entry(subject));

/** Deletes records as the owner of the table and returns their ids. */
async function remove(...subjects: string[]): Promise<string[]> {
  const rows = await fixture.owner<{ id: string }[]>`
    DELETE FROM audit_records WHERE subject = ANY (${subjects}) AND position IS NULL RETURNING id`;
  expect(rows).toHaveLength(subjects.length);
  return rows.map(({ id }) => id.replaceAll('-', '')).sort();
}

async function expectMissing(ids: readonly string[]): Promise<void> {
  const { ok, faults } = await verifyAudit(fixture.ctx, { batch: 3 });
  expect(faults.map(({ what, position }) => [what, position])).toStrictEqual(ids.map(() => ['missing', null]));
  expect(faults.map(({ id }) => id).sort()).toStrictEqual(ids);
  expect(ok).toBe(ids.length === 0);
}

test('records that were deleted before they joined the chain are reported one by one', async () => {
  const subjects = Array.from({ length: 12 }, () => newId());
  for (const subject of subjects) await record(subject);
  await expectMissing([]);
  const gone = await remove(subjects[0] ?? '', subjects[4] ?? '', subjects[7] ?? '');
  // Before and after the others are chained.
  await expectMissing(gone);
  await sealAudit(fixture.ctx);
  await expectMissing(gone);
});

test('records that were stored together are reported too', async () => {
  const subjects = Array.from({ length: 30 }, () => newId());
  await Promise.all(subjects.map(record));
  await record();
  const gone = await remove(subjects[3] ?? '', subjects[29] ?? '');
  await sealAudit(fixture.ctx);
  await expectMissing(gone);
});

test('a record of a transaction is missed if it was committed, and only then', async () => {
  const { ctx, tenant } = fixture;
  const [kept, undone] = [newId(), newId()];
  await ctx.db.tenant(tenant.client_id, (tx) => ctx.audit.recordInTransaction(tx, entry(kept)));
  const rolledBack = ctx.db.tenant(tenant.client_id, async (tx) => {
    await ctx.audit.recordInTransaction(tx, entry(undone));
    throw new Error('rolled back');
  });
  await expect(rolledBack).rejects.toThrow('rolled back');
  await record();
  await expectMissing([]);
  const gone = await remove(kept);
  // The record that was rolled back had named it.
  await until('it to be named again', async () => {
    await ctx.audit.settle();
    await record();
    return !(await verifyAudit(ctx)).ok;
  });
  await expectMissing(gone);
});

test('each of a long series of deleted records is reported after its process has stored others', async () => {
  const { audit } = fixture.ctx;
  const subjects = Array.from({ length: 250 }, () => newId());
  for (const subject of subjects) await record(subject);
  const gone = await remove(...subjects);
  expect(gone).toHaveLength(250);
  const unnamed = async () => {
    const named = await fixture.owner<{ id: string }[]>`
      SELECT DISTINCT replace(unnest(follows)::text, '-', '') AS id FROM audit_records`;
    const ids = new Set(named.map(({ id }) => id));
    return gone.filter((id) => !ids.has(id)).length;
  };
  await until('all of them to be named', async () => {
    await audit.settle();
    await record();
    return (await unnamed()) === 0;
  });
  const { faults } = await verifyAudit(fixture.ctx);
  expect(faults.length).toBe(faults_max);
  for (const { id } of faults) expect(gone).toContain(id);
});

test('records are named again if the record that named them is gone, until one is part of the chain', async () => {
  let now = 0;
  const followed = createFollowedRecords(() => now);
  const states = new Map<string, boolean>();
  const settle = () =>
    followed.settle(async (ids) =>
      [...states].map(([id, sealed]) => ({ id, sealed })).filter(({ id }) => ids.includes(id)),
    );
  followed.confirm('a');
  expect(followed.follow('rolled back')).toStrictEqual(['a']);
  await settle();
  expect(followed.follow('b'), 'too early to tell').toStrictEqual([]);
  now += 2_000;
  await settle();
  expect(followed.follow('c')).toStrictEqual(['a']);
  states.set('c', false);
  now += 2_000;
  await settle();
  expect(followed.follow('d'), 'stored, but not part of the chain').toStrictEqual([]);
  states.delete('c');
  await settle();
  expect(followed.follow('e')).toStrictEqual(['a']);
  states.set('e', true);
  now += 2_000;
  await settle();
  states.clear();
  now += 2_000;
  await settle();
  expect(followed.follow('f')).toStrictEqual([]);
});

test('a record of a statement with a condition is named only after it was confirmed', async () => {
  const { ctx } = fixture;
  const [stored, not_stored] = [entry(), entry()];
  const sql = ctx.db.system.pooled;
  const insert = (each: AuditEntry, condition: boolean) =>
    sql`WITH added AS (${ctx.audit.recordStatement(sql, [each], condition ? sql`true` : sql`false`)})
        SELECT count(*) FROM added`;
  await insert(stored, true);
  await insert(not_stored, false);
  ctx.audit.confirm(stored);
  await record();
  await expectMissing([]);
  await expectMissing(await remove(stored.subject ?? ''));
});

test('each process names its own records', async () => {
  const other = await openAudit(fixture.ctx.db, fixture.ctx.system_keys);
  onTestFinished(other.close);
  const [mine, theirs] = [newId(), newId()];
  await record(mine);
  await other.record(entry(theirs));
  await record();
  await other.record(entry());
  await expectMissing(await remove(mine, theirs));
});

test('a process that starts names the records that it finds outside of the chain, except forged ones', async () => {
  const { ctx, owner } = fixture;
  const last = newId();
  await record(last);
  // Its process ends here; nothing it stores will name the record.
  const forged = newId();
  await owner`INSERT INTO audit_records (id, at, actor_kind, actor, action, outcome, patients, mac)
    VALUES (${forged}, now(), 'system', 't', 't', 't', '{}', '')`;
  const next = await openAudit(ctx.db, ctx.system_keys);
  onTestFinished(next.close);
  const gone = await remove(last);
  await owner`DELETE FROM audit_records WHERE id = ${forged}`;
  await expectMissing([]);
  await next.record(entry());
  await expectMissing(gone);
  await sealAudit(ctx);
  await expectMissing(gone);
});

test('a process that ends adds its last records to the chain, also if it has to wait for another one', async () => {
  const { ctx, owner } = fixture;
  const unsealed = async () => (await owner`SELECT FROM audit_records WHERE position IS NULL`).length;
  await record();
  await sealLastRecords(ctx);
  expect(await unsealed()).toBe(0);
  await record();
  let ended: Promise<void> | undefined;
  await owner.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.audit', 0))`;
    await expect(sealLastRecords(ctx, 200), 'not for long').rejects.toThrow('not part of the chain');
    expect(await unsealed()).toBe(1);
    ended = sealLastRecords(ctx);
  });
  await ended;
  expect(await unsealed()).toBe(0);
});

test('records of earlier versions, which name none, stay valid', async () => {
  const { ctx, owner } = fixture;
  await record();
  const [row] = await owner`SELECT follows FROM audit_records`;
  expect(row?.follows).toBeNull();
  await sealAudit(ctx);
  await expectMissing([]);
});
