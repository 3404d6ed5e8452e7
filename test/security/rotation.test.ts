import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exportPKCS8, generateKeyPair } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { connect, type Database, openDatabase, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { type Keys, loadKeys, rotation_steps } from '../../src/platform/security/keys.ts';
import { clientKeys } from '../../src/platform/security/signingKeys.ts';
import { recordRotation } from '../../src/product/audit/openAudit.ts';
import { freshDatabase, template, toUrl } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

type Installation = {
  data_dir: string;
  url: string;
  owner: Sql;
  tenant: Tenant;
  /** A process of its own, with its own connections and its own copy of the keys. */
  open(env?: Record<string, string>): Promise<{ db: Database; keys: Keys }>;
};

async function install(): Promise<Installation> {
  const database = await freshDatabase('rotation', await template('rotation', migrate));
  const data_dir = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'rotation-'));
  const owner = connect(database.address, { max: 1 });
  const opened: Database[] = [];
  onTestFinished(async () => {
    await Promise.all([owner.end(), ...opened.map((db) => db.close())]);
    await database.drop();
    await rm(data_dir, { recursive: true });
  });
  return {
    data_dir,
    url: toUrl(database.address),
    owner,
    tenant: await createTenant(owner),
    open: async (env = {}) => {
      const db = openDatabase(roleAddresses(database.address), 2);
      opened.push(db);
      const config = loadConfig({ DATA_DIR: data_dir, ...env });
      return { db, keys: await loadKeys(config, db.system, { print: () => {}, record: recordRotation }) };
    },
  };
}

const binding = 'test:1';

async function seal(process: { db: Database; keys: Keys }, { client_id }: Tenant, owner_id: string, text: string) {
  return process.db.tenant(client_id, (tx) => process.keys.vault.seal(tx, { client_id, owner_id }, binding, text));
}

async function unseal(process: { db: Database; keys: Keys }, { client_id }: Tenant, sealed: Buffer) {
  return process.db.tenant(client_id, (tx) => process.keys.vault.unseal(tx, sealed, binding));
}

const newOwnerId = () => randomBytes(16).toString('hex');

test('rotations in several processes at once run one after the other, and everything stays readable', async () => {
  const { tenant, open, owner } = await install();
  const processes = [await open(), await open(), await open()];
  const sealed: Buffer[] = [];
  for (const [n, each] of processes.entries()) sealed.push(await seal(each, tenant, newOwnerId(), `text ${n}`));
  await Promise.all([...processes, ...processes].map(({ keys }) => keys.key_ring.rotate()));
  // The other processes have not been notified; they find out when they meet an unknown key.
  for (const [n, each] of processes.entries()) {
    for (const [of, value] of sealed.entries()) expect(await unseal(each, tenant, value), `${n}`).toBe(`text ${of}`);
  }
  const fresh = await open();
  for (const [n, value] of sealed.entries()) expect(await unseal(fresh, tenant, value)).toBe(`text ${n}`);
  expect(await owner`SELECT DISTINCT master_key_id FROM data_keys`).toHaveLength(1);
});

test('a process that missed two rotations cannot seal with a key that is gone, and then uses the new one', async () => {
  const { tenant, open } = await install();
  const [stale, other] = [await open(), await open()];
  await other.keys.key_ring.rotate();
  await other.keys.key_ring.rotate();
  const owner_id = newOwnerId();
  await expect(seal(stale, tenant, owner_id, 'x')).rejects.toMatchObject({ code: '23503' });
  const sealed = await seal(stale, tenant, owner_id, 'x');
  expect(await unseal(await open(), tenant, sealed)).toBe('x');
});

test.each(rotation_steps)('a process killed at the step %s leaves everything readable', async (step) => {
  const { tenant, open, owner, data_dir, url } = await install();
  const before = await open();
  const sealed = await seal(before, tenant, newOwnerId(), 'kept');
  const kid = await addSigningKey(before, tenant);
  const hash = before.keys.system_keys.key('audit.chain');
  await killedAt(step, data_dir, url);

  // The process that kept running, then one that starts.
  const new_value = await seal(before, tenant, newOwnerId(), 'new').catch(() => undefined);
  expect(await unseal(before, tenant, sealed)).toBe('kept');
  const after = await open();
  expect(await unseal(after, tenant, sealed)).toBe('kept');
  if (new_value) expect(await unseal(after, tenant, new_value)).toBe('new');
  expect(after.keys.system_keys.key('audit.chain')).toStrictEqual(hash);
  const keys = clientKeys({ db: after.db, vault: after.keys.vault }, tenant.client_id);
  expect((await keys.current('ES384')).kid).toBe(kid);

  expect(await after.keys.key_ring.rotate()).toBeGreaterThan(0);
  expect(await unseal(await open(), tenant, sealed)).toBe('kept');
  expect((await readdir(data_dir)).filter((name) => name.startsWith('master.key'))).toStrictEqual(['master.key']);
  expect(await owner`SELECT FROM master_keys`).not.toHaveLength(0);
});

test('a rotation by restart with MASTER_KEY_PREVIOUS is recorded in the audit log', async () => {
  const { tenant, open, owner } = await install();
  const [old_key, new_key] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
  const sealed = await seal(await open({ MASTER_KEY: old_key }), tenant, newOwnerId(), 'kept');
  const rotated = { MASTER_KEY: new_key, MASTER_KEY_PREVIOUS: old_key };
  // Two processes restart at once; only one of them finds something to do.
  const [one] = await Promise.all([open(rotated), open(rotated)]);
  expect(await unseal(one, tenant, sealed)).toBe('kept');
  const { current, previous } = await one.keys.key_ring.describe();
  const records = await owner`
    SELECT actor_kind, actor, outcome, detail FROM audit_records WHERE action = 'master_key.rotate' ORDER BY id`;
  const by = { actor_kind: 'system', actor: 'service' };
  expect(records).toEqual([
    { ...by, outcome: 'started', detail: { from: previous, to: current } },
    { ...by, outcome: 'completed', detail: { from: previous, to: current, rewrapped: 2 } },
  ]);
});

test('a key that programs print is rotated like one in the settings, also from a key in the settings', async () => {
  const { tenant, open, owner, data_dir } = await install();
  const [first, second, third] = Array.from({ length: 3 }, () => randomBytes(32).toString('hex'));
  const { PATH = '' } = process.env;
  const sealed = await seal(await open({ MASTER_KEY: `${first}` }), tenant, newOwnerId(), 'kept');
  const current = (key: string | undefined) => ({ PATH, MASTER_KEY_COMMAND: `echo ${key}` });
  const previous = (key: string | undefined) => ({ MASTER_KEY_PREVIOUS_COMMAND: `echo ${key}` });
  for (const env of [
    { ...current(second), MASTER_KEY_PREVIOUS: `${first}` },
    current(second),
    // Several processes: first all of them know the new key, then the two are swapped.
    { ...current(second), ...previous(third) },
    { ...current(third), ...previous(second) },
    current(third),
  ]) {
    const opened = await open(env);
    expect(await unseal(opened, tenant, sealed)).toBe('kept');
    expect(opened.keys.key_ring.source).toBe('settings');
    expect(await opened.keys.key_ring.rotate()).toBeUndefined();
  }
  await expect(open(current(first))).rejects.toThrow(/^Some secrets are still under the master key mk_/);
  expect(await owner`SELECT DISTINCT master_key_id FROM data_keys`).toHaveLength(1);
  expect(await readdir(data_dir)).toStrictEqual([]);
});

/** Faster than the service, which also creates an RSA key. */
async function addSigningKey({ db, keys }: { db: Database; keys: Keys }, { client_id }: Tenant): Promise<string> {
  const { privateKey } = await generateKeyPair('ES384', { extractable: true });
  const [kid, pem] = [newOwnerId(), await exportPKCS8(privateKey)];
  await db.tenant(client_id, async (tx) => {
    const sealed = await keys.vault.seal(tx, { client_id, owner_id: client_id }, `signing_keys:${kid}`, pem);
    await tx`INSERT INTO signing_keys (kid, client_id, alg, public_jwk, private_sealed, signs_from)
      VALUES (${kid}, ${client_id}, 'ES384', '{}', ${sealed}, now())`;
  });
  return kid;
}

/** Rotates in another process, which kills itself at the step. */
async function killedAt(step: string, data_dir: string, url: string): Promise<void> {
  const program = fileURLToPath(new URL('rotateAndDie.mjs', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [program, step], {
    env: { PATH: process.env.PATH, DATA_DIR: data_dir, DATABASE_URL: url },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
}
