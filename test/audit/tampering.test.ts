import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealAudit } from '../../src/audit/sealAudit.ts';
import { verifyAudit } from '../../src/audit/verifyAudit.ts';
import type { Sql, Tx } from '../../src/db/database.ts';
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
});
afterAll(() => world.close());

/** Verification of the trail as `tamper` leaves it; everything is taken back afterwards. */
async function verifyAfter(tamper: (tx: Tx) => Promise<unknown>, batch = 7) {
  const kept = await world.owner`SELECT *, patients::text[] AS patients, detail::text AS detail FROM audit_records`;
  const [head] = await world.owner`SELECT * FROM audit_head`;
  await world.owner.begin(tamper);
  try {
    return await verifyAudit(world.ctx, undefined, batch);
  } finally {
    await world.owner.begin(async (tx) => {
      await tx`TRUNCATE audit_records, audit_head`;
      await tx`INSERT INTO audit_records ${tx(kept as unknown as Record<string, never>[])}`;
      await tx`INSERT INTO audit_head ${tx(head as unknown as Record<string, never>)}`;
    });
  }
}

test('an untouched trail is found whole, whatever the size of the batches', async () => {
  for (const batch of [1, 7, records, 1000]) {
    const verdict = await verifyAudit(world.ctx, undefined, batch);
    expect(verdict).toStrictEqual({ ok: true, checked: records, unsealed: 0, faults: [] });
  }
  // What the tests below put back is what was there.
  expect(await verifyAfter(async () => {})).toMatchObject({ ok: true, checked: records });
});

const places = [
  ['first', 1],
  ['middle', records / 2],
  ['last', records],
] as const;

/** Another value for every column. */
const flips: Record<string, (sql: Sql | Tx) => ReturnType<Tx>> = {
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
  tx`INSERT INTO audit_records ${tx({
    id: newId(),
    at: new Date(),
    actor_kind: 'client',
    actor: 'ci_test_1',
    action: 'patients.list',
    outcome: '200',
    patients: [],
    mac: Buffer.alloc(32),
    ...columns,
  } as unknown as Record<string, never>)}`;

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
      const rows = await tx`SELECT *, patients::text[] AS patients, detail::text AS detail FROM audit_records
        WHERE position IN (${position}, ${other}) ORDER BY position`;
      await tx`DELETE FROM audit_records WHERE position IN (${position}, ${other})`;
      const [a, b] = rows;
      const mixed = [
        { ...a, ...Object.fromEntries(columns.map((name) => [name, b?.[name]])) },
        { ...b, ...Object.fromEntries(columns.map((name) => [name, a?.[name]])) },
      ];
      await tx`INSERT INTO audit_records ${tx(mixed as unknown as Record<string, never>[])}`;
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
      const [genuine] = await tx`SELECT *, patients::text[] AS patients, detail::text AS detail FROM audit_records
        WHERE position = ${position}`;
      const copy = { ...genuine, id: newId(), position: null, chain: null };
      await tx`INSERT INTO audit_records ${tx(copy as unknown as Record<string, never>)}`;
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
    const kept = await world.owner`SELECT * FROM audit_head`;
    await world.owner.begin(change);
    await expect(sealAudit(world.ctx)).rejects.toThrow(/Verify the trail/);
    await world.owner`TRUNCATE audit_head`;
    await world.owner`INSERT INTO audit_head ${world.owner(kept as unknown as Record<string, never>[])}`;
    await world.owner`DELETE FROM audit_records WHERE position IS NULL`;
  }
});

test('promise 25: every one of these was found', () => {
  expect(found).toBe(tried);
  console.log(`audit verification: ${found} of ${tried} kinds and places of tampering found (100 %)`);
});
