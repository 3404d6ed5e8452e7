import { hkdfSync, randomBytes } from 'node:crypto';
import type { Sql } from '../db/database.ts';
import type { MasterKeys } from './masterKeys.ts';
import { sealWith, unsealWith } from './seal.ts';
import { unwrapKey, type WrappedKey, wrapKey } from './wrapKey.ts';

/** What a key is used for. A value made for one purpose is not valid for another. */
export type SystemPurpose = 'audit.records' | 'audit.chain' | 'audit.patients' | 'operators' | 'erasure' | 'emr_apps';

/** Keys for data that belongs to no tenant. */
export type SystemKeys = {
  /** 256 bits for one purpose, the same in every process and after every rotation of the master key. */
  key(purpose: SystemPurpose): Buffer;
  /** Seals a text. The binding names its place ('operators.totp:<id>'); it cannot be unsealed anywhere else. */
  seal(purpose: SystemPurpose, binding: string, text: string): Buffer;
  unseal(purpose: SystemPurpose, binding: string, sealed: Buffer): string;
};

/** Unwraps the installation's random root key, created at the first start. Owns the table `system_keys`. */
export async function openSystemKeys(system: Sql, master: MasterKeys): Promise<SystemKeys> {
  const root = unwrapKey(master, await ensureRow(system, master), binding);
  const derived = new Map<SystemPurpose, Buffer>();
  const key = (purpose: SystemPurpose): Buffer => {
    const known = derived.get(purpose);
    if (known) return known;
    const derived_key = Buffer.from(hkdfSync('sha256', root, '', `chartwire ${purpose}`, 32));
    derived.set(purpose, derived_key);
    return derived_key;
  };
  return {
    key,
    seal: (purpose, bound_to, text) => sealWith(key(purpose), Buffer.from(text, 'utf8'), bound_to),
    unseal: (purpose, bound_to, sealed) => unsealWith(key(purpose), sealed, bound_to).toString('utf8'),
  };
}

/** Re-wraps the root key if it is still under the previous master key; returns how many keys changed. */
export async function rewrapSystemKeys(system: Sql, master: MasterKeys): Promise<number> {
  const { previous } = master;
  if (!previous) return 0;
  return system.begin(async (tx) => {
    const [row] = await tx<WrappedKey[]>`SELECT master_key_id, wrapped FROM system_keys
      WHERE name = ${name} AND master_key_id = ${previous.id} FOR NO KEY UPDATE SKIP LOCKED`;
    if (!row) return 0;
    const { master_key_id, wrapped } = wrapKey(master, unwrapKey(master, row, binding), binding);
    await tx`UPDATE system_keys SET master_key_id = ${master_key_id}, wrapped = ${wrapped} WHERE name = ${name}`;
    return 1;
  });
}

const name = 'system';
const binding = `system_keys:${name}`;

/** If two processes start for the first time at once, one key is stored and both read it. */
async function ensureRow(system: Sql, master: MasterKeys): Promise<WrappedKey> {
  const find = () => system<WrappedKey[]>`SELECT master_key_id, wrapped FROM system_keys WHERE name = ${name}`;
  const [known] = await find();
  if (known) return known;
  const { master_key_id, wrapped } = wrapKey(master, randomBytes(32), binding);
  await system`INSERT INTO system_keys (name, master_key_id, wrapped) VALUES (${name}, ${master_key_id}, ${wrapped})
    ON CONFLICT DO NOTHING`;
  const [stored] = await find();
  if (!stored) throw new Error('The system key is missing after it was stored.');
  return stored;
}
