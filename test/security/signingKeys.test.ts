import { randomBytes } from 'node:crypto';
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { connect, type Database, openDatabase, type Sql, type Tx } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { checkMasterKey } from '../../src/platform/security/keys.ts';
import { identified, MasterKeyMissing, type MasterKeys } from '../../src/platform/security/masterKeys.ts';
import { SealFailure } from '../../src/platform/security/seal.ts';
import { type ClientKeys, clientKeys, signing_algorithms } from '../../src/platform/security/signingKeys.ts';
import { createVault } from '../../src/platform/security/vault.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';
import { createTenant } from '../harness/tenant.ts';

let database: FreshDatabase;
let owner: Sql;
let db: Database;
let client_id: string;
let other_id: string;
beforeAll(async () => {
  database = await freshDatabase('signing');
  owner = connect(database.address, { max: 2 });
  await migrate(database.address);
  db = openDatabase(roleAddresses(database.address), 6);
  [client_id, other_id] = [(await createTenant(owner)).client_id, (await createTenant(owner)).client_id];
});
beforeEach(async () => {
  await owner`TRUNCATE signing_keys, data_keys, master_keys CASCADE`;
  await checkMasterKey(db.system, before);
  await checkMasterKey(db.system, during);
});
afterAll(async () => {
  await Promise.all([owner.end(), db.close()]);
  await database.drop();
});

const old_key = identified(randomBytes(32));
const new_key = identified(randomBytes(32));
const before: MasterKeys = { current: old_key };
const during: MasterKeys = { current: new_key, previous: old_key };
const after: MasterKeys = { current: new_key };

/** The keys of a client, as a process with these master keys opens them. */
const keysWith = (master: MasterKeys, of = client_id) => clientKeys({ db, vault: createVault(master) }, of);

async function signWith(keys: ClientKeys, alg: (typeof signing_algorithms)[number]): Promise<string> {
  const { kid, key } = await keys.current(alg);
  return new SignJWT({ sub: 'x' }).setProtectedHeader({ alg, kid }).sign(key);
}

const listKids = async (keys: ClientKeys) => (await keys.published()).keys.map(({ kid }) => kid).sort();

test('signatures verify with the published keys, which contain no private part', async () => {
  const keys = keysWith(before);
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

test('each client has keys of its own, and no signature verifies with the keys of another', async () => {
  const [mine, theirs] = [keysWith(before), keysWith(before, other_id)];
  expect(new Set([...(await listKids(mine)), ...(await listKids(theirs))]).size).toBe(4);
  const foreign = createLocalJWKSet(await theirs.published());
  for (const alg of signing_algorithms) await expect(jwtVerify(await signWith(mine, alg), foreign)).rejects.toThrow();
  const visible = await db.tenant(other_id, (tx) => tx`SELECT DISTINCT client_id FROM signing_keys`);
  expect(visible.map((row) => row.client_id)).toEqual([other_id]);
});

test('private keys are encrypted in the database with the data key of their client', async () => {
  await keysWith(before).published();
  const rows = await owner<{ private_sealed: Buffer }[]>`SELECT private_sealed FROM signing_keys`;
  expect(rows).toHaveLength(2);
  for (const { private_sealed } of rows) expect(private_sealed.toString('latin1')).not.toContain('PRIVATE KEY');
  await expect(keysWith(after).current('RS384')).rejects.toThrow(MasterKeyMissing);
  // Bound to its row.
  await owner`UPDATE signing_keys SET private_sealed =
    (SELECT private_sealed FROM signing_keys WHERE alg = 'ES384') WHERE alg = 'RS384'`;
  await expect(keysWith(before).current('RS384')).rejects.toThrow(SealFailure);
});

test('concurrent processes create one pair of keys', async () => {
  const all = await Promise.all(Array.from({ length: 4 }, () => listKids(keysWith(before))));
  expect(new Set(all.map(String)).size).toBe(1);
  expect(await owner`SELECT FROM signing_keys`).toHaveLength(2);
});

test('no transaction is open while keys are generated, which takes seconds on a busy machine', async () => {
  const slow_steps: number[] = [];
  let open = 0;
  const counting: Pick<Database, 'tenant' | 'read'> = {
    read: db.read,
    tenant: async <T>(of: string, work: (tx: Tx) => Promise<T>) => {
      open += 1;
      try {
        return await db.tenant(of, work);
      } finally {
        open -= 1;
      }
    },
  };
  const generate = crypto.subtle.generateKey.bind(crypto.subtle);
  crypto.subtle.generateKey = ((...args: Parameters<typeof generate>) => {
    slow_steps.push(open);
    return generate(...args);
  }) as typeof generate;
  try {
    await clientKeys({ db: counting, vault: createVault(before) }, client_id).rotate();
  } finally {
    crypto.subtle.generateKey = generate;
  }
  expect(slow_steps).toStrictEqual([0, 0, 0, 0]);
});

test('a new key is published before it is used, and the old one for a week afterwards', async () => {
  const keys = keysWith(before);
  const first = await keys.current('RS384');
  const added = await keys.rotate();
  expect(added).toHaveLength(2);
  expect((await keys.current('RS384')).kid).toBe(first.kid);
  expect(await listKids(keys)).toHaveLength(4);

  const passHours = (hours: number) =>
    owner`UPDATE signing_keys SET signs_from = signs_from - make_interval(hours => ${hours})`;
  await passHours(25);
  const second = await keys.current('RS384');
  expect(added).toContain(second.kid);
  expect(await listKids(keys)).toContain(first.kid);
  await passHours(8 * 24);
  expect(await listKids(keys)).toEqual([...added].sort());
  expect((await keys.current('RS384')).kid).toBe(second.kid);
});

test('a master key rotation includes them, and a start without the key they need is rejected', async () => {
  await checkMasterKey(db.system, before);
  const kids = await listKids(keysWith(before));
  await checkMasterKey(db.system, during);
  await expect(checkMasterKey(db.system, after)).rejects.toThrow(old_key.id);
  // The data key of the client.
  expect(await createVault(during).rewrap(db.system)).toBe(1);
  expect(await createVault(during).rewrap(db.system)).toBe(0);
  await checkMasterKey(db.system, after);
  const keys = keysWith(after);
  expect(await listKids(keys)).toEqual(kids);
  await jwtVerify(await signWith(keys, 'ES384'), createLocalJWKSet(await keys.published()));
});
