import { randomBytes } from 'node:crypto';
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { connect, type Sql, type Tx } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { checkMasterKey } from '../../src/security/checkMasterKey.ts';
import { identified, type MasterKeys } from '../../src/security/masterKeys.ts';
import { SealFailure } from '../../src/security/seal.ts';
import { openSigningKeys, type SigningKeys, signing_algorithms } from '../../src/security/signingKeys.ts';
import { MasterKeyMissing } from '../../src/security/wrapKey.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';

let database: FreshDatabase;
let owner: Sql;
let system: Sql;
beforeAll(async () => {
  database = await freshDatabase('signing');
  owner = connect(database.address, { max: 2 });
  system = connect((await migrate(database.address)).system, { max: 8 });
});
beforeEach(async () => {
  await owner`TRUNCATE signing_keys, master_keys CASCADE`;
  await checkMasterKey(system, before);
  await checkMasterKey(system, during);
});
afterAll(async () => {
  await Promise.all([owner.end(), system.end()]);
  await database.drop();
});

const old_key = identified(randomBytes(32));
const new_key = identified(randomBytes(32));
const before: MasterKeys = { current: old_key };
const during: MasterKeys = { current: new_key, previous: old_key };
const after: MasterKeys = { current: new_key };

async function signWith(keys: SigningKeys, alg: (typeof signing_algorithms)[number]): Promise<string> {
  const { kid, key } = await keys.current(alg);
  return new SignJWT({ sub: 'x' }).setProtectedHeader({ alg, kid }).sign(key);
}

const kidsOf = async (keys: SigningKeys) => (await keys.published()).keys.map(({ kid }) => kid).sort();

test('signatures verify with the published keys, which contain no private part', async () => {
  const keys = openSigningKeys(system, before);
  const published = await keys.published();
  expect(published.keys.map(({ alg }) => alg).sort()).toEqual(['ES384', 'RS384']);
  for (const key of published.keys) {
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(key).not.toHaveProperty(secret);
    expect(key).toMatchObject({ use: 'sig', kid: expect.any(String) });
  }
  for (const alg of signing_algorithms) {
    const { payload } = await jwtVerify(await signWith(keys, alg), createLocalJWKSet(published));
    expect(payload.sub).toBe('x');
  }
});

test('private keys are encrypted in the database under the master key', async () => {
  await openSigningKeys(system, before).published();
  const rows = await owner<{ kid: string; private_sealed: Buffer }[]>`SELECT kid, private_sealed FROM signing_keys`;
  expect(rows).toHaveLength(2);
  for (const { private_sealed } of rows) expect(private_sealed.toString('latin1')).not.toContain('PRIVATE KEY');
  await expect(openSigningKeys(system, after).current('RS384')).rejects.toThrow(MasterKeyMissing);
  // Bound to its row.
  await owner`UPDATE signing_keys SET private_sealed =
    (SELECT private_sealed FROM signing_keys WHERE alg = 'ES384') WHERE alg = 'RS384'`;
  await expect(openSigningKeys(system, before).current('RS384')).rejects.toThrow(SealFailure);
});

test('concurrent processes create one pair of keys', async () => {
  const all = await Promise.all(Array.from({ length: 4 }, () => kidsOf(openSigningKeys(system, before))));
  expect(new Set(all.map(String)).size).toBe(1);
  expect(await owner`SELECT FROM signing_keys`).toHaveLength(2);
});

test('no transaction is open while keys are generated, which takes seconds on a busy machine', async () => {
  let open = 0;
  const counting = new Proxy(system, {
    get: (target, name) => {
      if (name !== 'begin') return Reflect.get(target, name);
      return async (work: (tx: Tx) => Promise<unknown>) => {
        open += 1;
        return target.begin(work).finally(() => {
          open -= 1;
        });
      };
    },
  });
  const open_when_sealing: number[] = [];
  const master: MasterKeys = {
    get current() {
      open_when_sealing.push(open);
      return old_key;
    },
  };
  await openSigningKeys(counting, master).rotate();
  expect(new Set(open_when_sealing)).toStrictEqual(new Set([0]));
});

test('a new key is published before it is used, and the old one for a week afterwards', async () => {
  const keys = openSigningKeys(system, before);
  const first = await keys.current('RS384');
  const added = await keys.rotate();
  expect(added).toHaveLength(2);
  expect((await keys.current('RS384')).kid).toBe(first.kid);
  expect(await kidsOf(keys)).toHaveLength(4);

  const passHours = (hours: number) =>
    owner`UPDATE signing_keys SET signs_from = signs_from - make_interval(hours => ${hours})`;
  await passHours(25);
  const second = await keys.current('RS384');
  expect(added).toContain(second.kid);
  expect(await kidsOf(keys)).toContain(first.kid);
  await passHours(8 * 24);
  expect(await kidsOf(keys)).toEqual([...added].sort());
  expect((await keys.current('RS384')).kid).toBe(second.kid);
});

test('a master key rotation includes them, and a start without the key they need is rejected', async () => {
  await checkMasterKey(system, before);
  const kids = await kidsOf(openSigningKeys(system, before));
  await checkMasterKey(system, during);
  await expect(checkMasterKey(system, after)).rejects.toThrow(old_key.id);
  expect(await openSigningKeys(system, during).rewrap()).toBe(2);
  expect(await openSigningKeys(system, during).rewrap()).toBe(0);
  await checkMasterKey(system, after);
  const keys = openSigningKeys(system, after);
  expect(await kidsOf(keys)).toEqual(kids);
  await jwtVerify(await signWith(keys, 'ES384'), createLocalJWKSet(await keys.published()));
});
