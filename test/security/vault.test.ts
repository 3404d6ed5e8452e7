import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { StartFailure } from '../../src/catalog/errors.ts';
import { newId } from '../../src/catalog/ids.ts';
import { connect, type Sql } from '../../src/platform/db/database.ts';
import { checkMasterKey } from '../../src/platform/security/keys.ts';
import {
  identified,
  loadSystemKeys,
  MasterKeyMissing,
  type MasterKeys,
} from '../../src/platform/security/masterKeys.ts';
import { SealFailure } from '../../src/platform/security/seal.ts';
import { createVault, type Owner, type Vault } from '../../src/platform/security/vault.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';

let database: FreshDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await freshDatabase('vault');
  sql = connect(database.address, { max: 8 });
  await sql`
    CREATE TABLE data_keys (
      id uuid PRIMARY KEY, client_id uuid NOT NULL, owner_id uuid NOT NULL UNIQUE, master_key_id text NOT NULL,
      wrapped bytea NOT NULL, created_at timestamptz DEFAULT now())`;
  await sql`CREATE TABLE master_keys (id text PRIMARY KEY, check_value bytea NOT NULL, created_at timestamptz DEFAULT now())`;
  await sql`CREATE TABLE system_keys (name text PRIMARY KEY, master_key_id text NOT NULL, wrapped bytea NOT NULL)`;
});
beforeEach(() => sql`TRUNCATE data_keys, master_keys, system_keys`);
afterAll(async () => {
  await sql.end();
  await database.drop();
});

const old_key = identified(randomBytes(32));
const new_key = identified(randomBytes(32));
const before: MasterKeys = { current: old_key };
const during: MasterKeys = { current: new_key, previous: old_key };
const after: MasterKeys = { current: new_key };

const newOwner = (): Owner => ({ client_id: newId(), owner_id: newId() });
const seal = (vault: Vault, owner: Owner, text: string, binding = 'a:1') =>
  sql.begin((tx) => vault.seal(tx, owner, binding, text)) as Promise<Buffer>;
const unseal = (vault: Vault, sealed: Buffer, binding = 'a:1') =>
  sql.begin((tx) => vault.unseal(tx, sealed, binding)) as Promise<string>;

test('a text is decrypted in this process and in another, but not with another binding', async () => {
  const vault = createVault(before);
  const sealed = await seal(vault, newOwner(), 'pässword 😀');
  expect(sealed.includes('pässword')).toBe(false);
  expect(await unseal(vault, sealed)).toBe('pässword 😀');
  expect(await unseal(createVault(before), sealed)).toBe('pässword 😀');
  await expect(unseal(vault, sealed, 'a:2')).rejects.toThrow(SealFailure);
  await expect(unseal(vault, sealed.subarray(0, 10))).rejects.toThrow(SealFailure);
});

test('decrypts without the database once the data key was used, and only with the same binding', async () => {
  const sealed = await seal(createVault(before), newOwner(), 'text');
  const vault = createVault(before);
  expect(vault.unsealInMemory(sealed, 'a:1')).toBeUndefined();
  await unseal(vault, sealed);
  expect(vault.unsealInMemory(sealed, 'a:1')).toBe('text');
  expect(() => vault.unsealInMemory(sealed, 'a:2')).toThrow(SealFailure);
  expect(() => vault.unsealInMemory(sealed.subarray(0, 10), 'a:1')).toThrow(SealFailure);
});

test('each owner has one data key, even if fifty concurrent calls need the first one', async () => {
  const owner = newOwner();
  const vaults = Array.from({ length: 50 }, () => createVault(before));
  const all = await Promise.all(vaults.map((vault, index) => seal(vault, owner, `text ${index}`)));
  await seal(createVault(before), newOwner(), 'other');
  expect(await sql`SELECT FROM data_keys`).toHaveLength(2);
  const fresh = createVault(before);
  const texts = await Promise.all(all.map((sealed) => unseal(fresh, sealed)));
  expect(texts).toEqual(vaults.map((_, index) => `text ${index}`));
});

test('a data key of a transaction that was rolled back is never used again', async () => {
  const vault = createVault(before);
  const owner = newOwner();
  const rolled_back = sql.begin(async (tx) => {
    await vault.seal(tx, owner, 'a:1', 'one');
    await vault.seal(tx, owner, 'a:2', 'two');
    throw new Error('rolled back');
  });
  await expect(rolled_back).rejects.toThrow('rolled back');
  const sealed = await seal(vault, owner, 'three');
  expect(await unseal(createVault(before), sealed)).toBe('three');
});

test('rejects an owner of another client, and a data key that was moved to another row', async () => {
  const vault = createVault(before);
  const owner = newOwner();
  const sealed = await seal(vault, owner, 'secret');
  await expect(seal(vault, { ...owner, client_id: newId() }, 'x')).rejects.toThrow('another client');

  await sql`UPDATE data_keys SET client_id = ${newId()}`;
  await expect(unseal(createVault(before), sealed)).rejects.toThrow(SealFailure);
  await sql`DELETE FROM data_keys`;
  await expect(unseal(createVault(before), sealed)).rejects.toThrow(/does not exist or belongs to another client/);
});

test('the key cache is limited and evicts the least recently used', async () => {
  const vault = createVault(before, { cached_keys_max: 2 });
  const [one, two, three] = [
    await seal(vault, newOwner(), '1'),
    await seal(vault, newOwner(), '2'),
    await seal(vault, newOwner(), '3'),
  ];
  await sql`DELETE FROM data_keys`;
  expect(await unseal(vault, two)).toBe('2');
  expect(await unseal(vault, three)).toBe('3');
  await expect(unseal(vault, one)).rejects.toThrow(SealFailure);
});

test('a secret is not decrypted without its master key, and the error contains only the id of the key', async () => {
  const sealed = await seal(createVault(before), newOwner(), 'secret');
  const failure = await unseal(createVault(after), sealed).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(MasterKeyMissing);
  expect(failure).toMatchObject({ master_key_id: old_key.id });
  expect(String(failure)).not.toContain('secret');

  const impostor: MasterKeys = { current: { id: old_key.id, key: randomBytes(32) } };
  await expect(unseal(createVault(impostor), sealed)).rejects.toThrow(SealFailure);
});

test('promise 19: the master key is rotated under load without a failed call, and wraps every data key afterwards', async () => {
  const owners = Array.from({ length: 60 }, newOwner);
  const old_vault = createVault(before);
  const sealed = await Promise.all(owners.map((owner, index) => seal(old_vault, owner, `text ${index}`)));

  let rotating = true;
  let calls = 0;
  const load = async () => {
    while (rotating || calls < 200) {
      const index = calls++ % owners.length;
      // A new vault has no cache, so every call unwraps the current row.
      expect(await unseal(createVault(during), sealed[index] ?? Buffer.alloc(0))).toBe(`text ${index}`);
      const owner = owners[index] ?? newOwner();
      expect(await unseal(createVault(during), await seal(createVault(during), owner, 'new'))).toBe('new');
    }
  };
  const callers = Promise.all([load(), load(), load()]);
  // Two processes re-wrap at the same time and share the work.
  const [one, two] = await Promise.all([createVault(during).rewrap(sql, 7), createVault(during).rewrap(sql, 7)]);
  rotating = false;
  await callers;

  expect(one + two).toBe(60);
  expect(await sql`SELECT DISTINCT master_key_id FROM data_keys`).toMatchObject([{ master_key_id: new_key.id }]);
  const vault = createVault(after);
  for (const [index, value] of sealed.entries()) expect(await unseal(vault, value)).toBe(`text ${index}`);
  expect(await vault.rewrap(sql)).toBe(0);
});

test('re-wrapping fails for a data key of an unknown master key, after re-wrapping the others', async () => {
  await seal(createVault({ current: identified(randomBytes(32)) }), newOwner(), 'x');
  await seal(createVault(before), newOwner(), 'y');
  await expect(createVault(during).rewrap(sql)).rejects.toThrow(MasterKeyMissing);
  expect(await sql`SELECT FROM data_keys WHERE master_key_id = ${new_key.id}`).toHaveLength(1);
});

const wrong =
  'MASTER_KEY is not the key this database was set up with. Set the correct key, or set MASTER_KEY_PREVIOUS to it during a rotation.';

test('the first start stores the key id, another key is rejected, and a rotation allows it', async () => {
  await checkMasterKey(sql, before);
  await checkMasterKey(sql, before);
  await expect(checkMasterKey(sql, after)).rejects.toThrow(new StartFailure(wrong));
  await expect(checkMasterKey(sql, { current: new_key, previous: identified(randomBytes(32)) })).rejects.toThrow(wrong);
  await checkMasterKey(sql, during);
  await checkMasterKey(sql, after);
  expect(await sql`SELECT id FROM master_keys`).toHaveLength(2);
});

test('a key with the right id and wrong bytes is rejected', async () => {
  await checkMasterKey(sql, before);
  await expect(checkMasterKey(sql, { current: { id: old_key.id, key: randomBytes(32) } })).rejects.toThrow(wrong);
});

test('a known key is rejected while data keys need another one, and the error has its id', async () => {
  await checkMasterKey(sql, before);
  await seal(createVault(before), newOwner(), 'x');
  await checkMasterKey(sql, during);
  await expect(checkMasterKey(sql, after)).rejects.toThrow(
    `Some secrets are still under the master key ${old_key.id}.`,
  );
  await createVault(during).rewrap(sql);
  await checkMasterKey(sql, after);
  await expect(checkMasterKey(sql, before)).rejects.toThrow(StartFailure);
});

test('one of several concurrent first starts with different keys succeeds', async () => {
  const keys = Array.from({ length: 8 }, () => identified(randomBytes(32)));
  const outcomes = await Promise.allSettled(keys.map((current) => checkMasterKey(sql, { current })));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await sql`SELECT FROM master_keys`).toHaveLength(1);
});

test('concurrent starts create one installation key, which encrypts for one purpose and binding', async () => {
  const opened = await Promise.all(Array.from({ length: 20 }, () => loadSystemKeys(sql, before)));
  expect(await sql`SELECT FROM system_keys`).toHaveLength(1);
  expect(new Set(opened.map((keys) => keys.key('audit.chain').toString('hex'))).size).toBe(1);
  const [first, last] = [opened[0], opened.at(-1)];
  const sealed = first?.seal('operators', 'operators.totp:1', 'JBSWY3DP') ?? Buffer.alloc(0);
  expect(last?.unseal('operators', 'operators.totp:1', sealed)).toBe('JBSWY3DP');
  expect(() => last?.unseal('operators', 'operators.totp:2', sealed)).toThrow(SealFailure);
  expect(() => last?.unseal('audit.records', 'operators.totp:1', sealed)).toThrow(SealFailure);
});

test('the installation key is re-wrapped with the data keys and does not change', async () => {
  const original = (await loadSystemKeys(sql, before)).key('operators');
  await checkMasterKey(sql, before);
  await expect(checkMasterKey(sql, { current: identified(randomBytes(32)) })).rejects.toThrow(StartFailure);
  await checkMasterKey(sql, during);
  expect(await createVault(during).rewrap(sql)).toBe(1);
  await checkMasterKey(sql, after);
  expect((await loadSystemKeys(sql, after)).key('operators')).toStrictEqual(original);
  await expect(loadSystemKeys(sql, before)).rejects.toThrow(MasterKeyMissing);
});

test('a start without the master key of the installation key is rejected', async () => {
  await checkMasterKey(sql, before);
  await checkMasterKey(sql, during);
  await loadSystemKeys(sql, before);
  await expect(checkMasterKey(sql, after)).rejects.toThrow(/MASTER_KEY_PREVIOUS/);
});
