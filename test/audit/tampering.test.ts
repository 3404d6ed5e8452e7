import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealAudit } from '../../src/audit/sealAudit.ts';
import { verifyAudit } from '../../src/audit/verifyAudit.ts';
import type { Fragment, Query, Tx } from '../../src/db/database.ts';
import { newId } from '../../src/ids.ts';
import { layTrail, type TrailWorld } from './trail.ts';

const records = 40;
let world: TrailWorld;
beforeAll(async () => {
  world = await layTrail();
  for (let n = 0; n < records; n++) {
    await world.ctx.audit.record({
      client_id: world.tenant.client_id,
      actor_kind: 'client',
      actor: 'ci_test_1',
      account_id: world.tenant.account_id,
      action: 'patients.list',
      outcome: '200',
      request_id: newId(),
      job_id: n + 1,
      subject: newId(),
      mrns: [`MRN${n}`, `MRN${n + 1}`],
      detail: { n, note: 'ünïcode "quoted"' },
    });
  }
  await sealAudit(world.ctx);
  await world.owner`CREATE TABLE kept_records AS SELECT * FROM audit_records`;
  await world.owner`CREATE TABLE kept_head AS SELECT * FROM audit_head`;
});
afterAll(() => world.close());

/** Verification of the trail as `tamper` leaves it; everything is put back afterwards, and found whole again. */
async function verifyAfter(tamper: (tx: Tx) => Promise<unknown>, batch = 7) {
  await world.owner.begin(tamper);
  const verdict = await verifyAudit(world.ctx, undefined, batch);
  await world.owner.begin(async (tx) => {
    await tx`TRUNCATE audit_records, audit_head`;
    await tx`INSERT INTO audit_records SELECT * FROM kept_records`;
    await tx`INSERT INTO audit_head SELECT * FROM kept_head`;
  });
  expect(await verifyAudit(world.ctx)).toMatchObject({ ok: true, checked: records });
  return verdict;
}

test('an untouched trail is found whole, whatever the size of the batches', async () => {
  for (const batch of [1, 7, records, 1000]) {
    const verdict = await verifyAudit(world.ctx, undefined, batch);
    expect(verdict).toStrictEqual({ ok: true, checked: records, unsealed: 0, faults: [] });
  }
});

const places = [
  ['first', 1],
  ['middle', records / 2],
  ['last', records],
] as const;

/** Another value for every column. */
const flips: Record<string, (sql: Query) => Fragment> = {
  id: (sql) => sql`id = gen_random_uuid()`,
  at: (sql) => sql`at = at + interval '1 millisecond'`,
  client_id: (sql) => sql`client_id = NULL`,
  actor_kind: (sql) => sql`actor_kind = 'operator'`,
  actor: (sql) => sql`actor = actor || '2'`,
  account_id: (sql) => sql`account_id = gen_random_uuid()`,
  action: (sql) => sql`action = 'visit-types.list'`,
  outcome: (sql) => sql`outcome = '403'`,
  request_id: (sql) => sql`request_id = NULL`,
  job_id: (sql) => sql`job_id = job_id + 1`,
  subject: (sql) => sql`subject = ''`,
  patients: (sql) => sql`patients = patients[1:1]`,
  detail: (sql) => sql`detail = '{}'`,
  mac: (sql) => sql`mac = set_byte(mac, 3, get_byte(mac, 3) # 1)`,
  chain: (sql) => sql`chain = set_byte(chain, 3, get_byte(chain, 3) # 1)`,
  position: (sql) => sql`position = position + 1000`,
};

/** Adds a record that nobody with the key has made. */
const forge = (columns: Record<string, unknown>) => (tx: Tx) =>
  tx`INSERT INTO audit_records ${tx.values({
    id: newId(),
    at: new Date(),
    actor_kind: 'client',
    actor: 'ci_test_1',
    action: 'patients.list',
    outcome: '200',
    patients: [],
    mac: Buffer.alloc(32),
    ...columns,
  })}`;

let found = 0;
let tried = 0;
async function expectFound(tamper: (tx: Tx) => Promise<unknown>, what: string): Promise<void> {
  tried += 1;
  const verdict = await verifyAfter(tamper);
  expect(verdict.ok, what).toBe(false);
  expect(verdict.faults.length, what).toBeGreaterThan(0);
  found += 1;
}

describe.each(places)('at the %s record', (_name, position) => {
  test.each(Object.keys(flips))('another %s is found', async (column) => {
    await expectFound(
      (tx) => tx`UPDATE audit_records SET ${flips[column]?.(tx) ?? tx``} WHERE position = ${position}`,
      column,
    );
  });

  test('a changed record is named', async () => {
    const verdict = await verifyAfter((tx) => tx`UPDATE audit_records SET actor = 'x' WHERE position = ${position}`);
    expect(verdict.faults).toStrictEqual([{ position, id: expect.any(String), what: 'changed' }]);
  });

  test('a removed record is found, and named by its place', async () => {
    const verdict = await verifyAfter((tx) => tx`DELETE FROM audit_records WHERE position = ${position}`);
    expect(verdict.faults[0]).toStrictEqual({ position, id: null, what: 'missing' });
    await expectFound((tx) => tx`DELETE FROM audit_records WHERE position = ${position}`, 'removed');
  });

  test('a removed record is found when those behind it close the gap', async () => {
    await expectFound(async (tx) => {
      await tx`DELETE FROM audit_records WHERE position = ${position}`;
      for (let after = position + 1; after <= records; after++) {
        await tx`UPDATE audit_records SET position = ${after - 1} WHERE position = ${after}`;
      }
    }, 'closed gap');
  });

  test('a record taken out of the chain is found, whether its place is left empty or taken by another', async () => {
    const unlink = (tx: Tx) => tx`UPDATE audit_records SET position = NULL, chain = NULL WHERE position = ${position}`;
    await expectFound(unlink, 'unlinked');
    await expectFound(async (tx) => {
      const [gone] = await tx`DELETE FROM audit_records WHERE position = ${position} RETURNING chain`;
      await forge({ position, chain: gone?.chain })(tx);
    }, 'replaced');
  });

  test('two records that changed places are found: places alone, with their links, with what they say', async () => {
    const other = position === records ? position - 1 : position + 1;
    const swap = (columns: string[]) => async (tx: Tx) => {
      await tx`CREATE TEMP TABLE two ON COMMIT DROP AS SELECT * FROM kept_records LIMIT 0`;
      await tx`INSERT INTO two SELECT * FROM audit_records WHERE position IN (${position}, ${other})`;
      await tx`DELETE FROM audit_records WHERE position IN (${position}, ${other})`;
      const exchanged = columns.flatMap((name, n) => [n === 0 ? tx`` : tx`, `, tx`${tx(name)} = twin.${tx(name)}`]);
      await tx`UPDATE two SET ${exchanged} FROM (SELECT * FROM two) AS twin WHERE twin.id <> two.id`;
      await tx`INSERT INTO audit_records SELECT * FROM two`;
    };
    for (const columns of [
      ['position'],
      ['position', 'chain'],
      ['chain'],
      ['mac'],
      ['actor', 'mac', 'subject'],
      ['id'],
    ]) {
      await expectFound(swap(columns), columns.join());
    }
  });

  test('a made-up record is found, with a place of its own or waiting for one', async () => {
    await expectFound(forge({}), 'unsealed');
    await expectFound(forge({ position: records + 1, chain: Buffer.alloc(32) }), 'beyond the end');
    await expectFound(async (tx) => {
      await tx`UPDATE audit_records SET position = position + 1000 WHERE position >= ${position}`;
      await tx`UPDATE audit_records SET position = position - 999 WHERE position > 1000`;
      await forge({ position, chain: Buffer.alloc(32) })(tx);
    }, 'between');
    await expectFound(async (tx) => {
      await tx`CREATE TEMP TABLE copy ON COMMIT DROP AS SELECT * FROM kept_records LIMIT 0`;
      await tx`INSERT INTO copy SELECT * FROM audit_records WHERE position = ${position}`;
      await tx`UPDATE copy SET id = ${newId()}, position = NULL, chain = NULL`;
      await tx`INSERT INTO audit_records SELECT * FROM copy`;
    }, 'a copy');
  });

  test('an end that was cut off from here is found, also when the head is moved back to it', async () => {
    const cut = (tx: Tx) => tx`DELETE FROM audit_records WHERE position >= ${position}`;
    await expectFound(cut, 'cut');
    await expectFound(async (tx) => {
      await cut(tx);
      await tx`UPDATE audit_head SET position = ${position - 1},
        chain = coalesce((SELECT chain FROM audit_records WHERE position = ${position - 1}), '')`;
    }, 'cut, with the head');
    await expectFound(async (tx) => {
      await cut(tx);
      await tx`DELETE FROM audit_head`;
    }, 'cut, without the head');
  });
});

test('a changed or removed head is found, and nothing is linked to it', async () => {
  for (const change of [
    (tx: Tx) => tx`UPDATE audit_head SET position = position + 1`,
    (tx: Tx) => tx`UPDATE audit_head SET chain = set_byte(chain, 0, get_byte(chain, 0) # 1)`,
    (tx: Tx) => tx`DELETE FROM audit_head`,
  ]) {
    await expectFound(change, 'head');
    await world.ctx.audit.record({ client_id: null, actor_kind: 'system', actor: 't', action: 't', outcome: 't' });
    await world.owner.begin(change);
    await expect(sealAudit(world.ctx)).rejects.toThrow(/Verify the trail/);
    await world.owner`TRUNCATE audit_head`;
    await world.owner`INSERT INTO audit_head SELECT * FROM kept_head`;
    await world.owner`DELETE FROM audit_records WHERE position IS NULL`;
  }
});

test('promise 25: every one of these was found', () => {
  expect(found).toBe(tried);
  const share = Math.round((found / tried) * 100);
  process.stdout.write(`promise 25: verification finds ${share} % of ${tried} kinds and places of tampering\n`);
});
