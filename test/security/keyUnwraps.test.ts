import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { isKeyPurpose, type KeyPurpose, key_purposes, readPurpose } from '../../src/catalog/keyPurposes.ts';
import { connect, type Database, openDatabase, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { checkMasterKey } from '../../src/platform/security/keys.ts';
import { type KeyUnwraps, listUnwraps, openKeyUnwraps } from '../../src/platform/security/keyUnwraps.ts';
import { identified, loadSystemKeys } from '../../src/platform/security/masterKeys.ts';
import { createVault } from '../../src/platform/security/vault.ts';
import { type FreshDatabase, freshDatabase, template } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

let database: FreshDatabase;
let db: Database;
let owner: Sql;
let tenant: Tenant;
let failures: unknown[];
beforeAll(async () => {
  database = await freshDatabase('unwraps', await template('rotation', migrate));
  db = openDatabase(roleAddresses(database.address), 4);
  owner = connect(database.address, { max: 1 });
  tenant = await createTenant(owner);
});
beforeEach(async () => {
  failures = [];
  await owner`TRUNCATE key_unwraps`;
});
afterAll(async () => {
  await Promise.all([db.close(), owner.end()]);
  await database.drop();
});

const open = (role: 'api' | 'worker' | 'command' = 'api'): KeyUnwraps =>
  openKeyUnwraps(db.system, role, (error) => void failures.push(error));

/** What the table says: `role purpose` → today’s count. */
async function stored(): Promise<Record<string, number>> {
  const rows = await listUnwraps(db.system);
  return Object.fromEntries(rows.map(({ role, purpose, today }) => [`${role} ${purpose}`, today]));
}

test('each unwrap of a key is counted by what the value is for; a key in memory is not unwrapped again', async () => {
  const master = { current: identified(randomBytes(32)) };
  await checkMasterKey(owner, master);
  const counted: KeyPurpose[] = [];
  const onUnwrap = (purpose: KeyPurpose) => void counted.push(purpose);
  await loadSystemKeys(db.system, master, onUnwrap);
  expect(counted.splice(0)).toStrictEqual(['start']);

  const { client_id } = tenant;
  const key_owner = { client_id, owner_id: randomBytes(16).toString('hex') };
  const seal = createVault(master, { onUnwrap });
  const sealed = await db.tenant(client_id, (tx) => seal.seal(tx, key_owner, 'credentials:1', 'x'));
  expect(counted.splice(0)).toStrictEqual(['credentials']);

  const vault = createVault(master, { onUnwrap });
  for (let n = 0; n < 3; n++) await db.tenant(client_id, (tx) => vault.unseal(tx, sealed, 'credentials:1'));
  expect(vault.unsealInMemory(sealed, 'credentials:1')).toBe('x');
  await db.tenant(client_id, (tx) => vault.seal(tx, key_owner, 'grant:1', 'y'));
  expect(counted.splice(0)).toStrictEqual(['credentials']);

  const rotated = { current: identified(randomBytes(32)), previous: master.current };
  await checkMasterKey(owner, rotated);
  await createVault(rotated, { onUnwrap }).rewrap(db.system);
  // The data key and the key of the installation.
  expect(counted.splice(0)).toStrictEqual(['rotation', 'rotation']);
});

test('counts are added to a row per day, process and purpose, together and not one by one', async () => {
  const [api, worker] = [open('api'), open('worker')];
  for (let n = 0; n < 1_000; n++) api.count('credentials');
  api.count('grant');
  worker.count('grant');
  expect(await stored()).toStrictEqual({});
  await Promise.all([api.store(), worker.store()]);
  expect(await stored()).toStrictEqual({ 'api credentials': 1_000, 'api grant': 1, 'worker grant': 1 });
  await api.store();
  api.count('credentials');
  await api.close();
  await worker.close();
  expect(await stored()).toStrictEqual({ 'api credentials': 1_001, 'api grant': 1, 'worker grant': 1 });
  expect((await listUnwraps(db.system)).map(({ host }) => host)).toStrictEqual(Array(3).fill(hostname()));
});

test('processes with one name that store at the same time lose no count', async () => {
  const processes = Array.from({ length: 8 }, () => open('worker'));
  const purposes = Object.keys(key_purposes) as KeyPurpose[];
  for (const [n, each] of processes.entries()) {
    for (const purpose of n % 2 ? purposes : purposes.toReversed()) each.count(purpose);
  }
  await Promise.all(processes.map((each) => each.close()));
  expect(failures).toStrictEqual([]);
  expect(await stored()).toStrictEqual(Object.fromEntries(purposes.map((purpose) => [`worker ${purpose}`, 8])));
});

test('counts that cannot be stored are reported once and stored later', async () => {
  const unwraps = open();
  unwraps.count('grant');
  await owner`ALTER TABLE key_unwraps RENAME TO moved`;
  await unwraps.store();
  unwraps.count('grant');
  await unwraps.store();
  expect(failures).toHaveLength(1);
  await owner`ALTER TABLE moved RENAME TO key_unwraps`;
  await unwraps.close();
  expect(await stored()).toStrictEqual({ 'api grant': 2 });
});

test('the last 30 days are added up, and rows older than 90 days are deleted', async () => {
  await owner`INSERT INTO key_unwraps SELECT (now() AT TIME ZONE 'UTC')::date - days, ${hostname()}, 'api', 'grant', 10
    FROM unnest(ARRAY[1, 29, 30, 90, 91]) AS days`;
  const unwraps = open();
  unwraps.count('grant');
  await unwraps.close();
  expect(await listUnwraps(db.system)).toStrictEqual([
    { host: hostname(), role: 'api', purpose: 'grant', today: 1, last_30_days: 21 },
  ]);
  expect(await owner`SELECT FROM key_unwraps`).toHaveLength(5);
});

test('every binding of a value that is encrypted with a data key has a purpose', () => {
  const src = resolve(import.meta.dirname, '../../src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  // Those of values under the key of the installation, of wrapped keys, and of the check value of a master key.
  const not_data_keys =
    /^(approvals\.content|sso_sign_ins|operator_\w+(\.\w+)?|operators\.totp|data_keys|system_keys|master_keys)$/;
  const bindings = files.flatMap((file) => {
    const code = readFileSync(join(src, file), 'utf8');
    if (!/\b(un)?seal(InMemory)?\(/.test(code) && !/\bbindings\b/.test(code)) return [];
    return [...code.matchAll(/(?:=>|return|const \w*[bB]inding =) `([a-z_.]+):\$\{/g)].map(([, name = '']) => name);
  });
  const of_data_keys = [...new Set(bindings)].filter((name) => !not_data_keys.test(name)).sort();
  const occasions = ['start', 'rotation', 'other'];
  expect(of_data_keys).toStrictEqual(
    Object.keys(key_purposes)
      .filter((name) => !occasions.includes(name))
      .sort(),
  );
  expect(readPurpose('something:1')).toBe('other');
  expect(isKeyPurpose('toString')).toBe(false);
});
