import { randomBytes } from 'node:crypto';
import { newId } from '../../catalog/ids.ts';
import { type KeyPurpose, readPurpose } from '../../catalog/keyPurposes.ts';
import type { Sql, Tx } from '../db/database.ts';
import {
  isForeignKeyViolation,
  MasterKeyMissing,
  type MasterKeys,
  rewrapSystemKeys,
  unwrapKey,
  wrapKey,
} from './masterKeys.ts';
import { SealFailure, sealWith, unsealWith } from './seal.ts';

/** The owner of a secret: a linked account, a webhook endpoint or a client. Each has one data key. */
export type Owner = { client_id: string; owner_id: string };

export type Vault = {
  /** Seals a text with the owner's data key, which is created on first use. The caller stores the result. */
  seal(tx: Tx, owner: Owner, binding: string, text: string): Promise<Buffer>;
  /** Unseals the result of `seal` for the same binding. */
  unseal(tx: Tx, sealed: Buffer, binding: string): Promise<string>;
  /** The same without the database; undefined if the data key is not in memory. */
  unsealInMemory(sealed: Buffer, binding: string): string | undefined;
  /**
   * Deletes the owner's data key. What is sealed with it, backups included, can no longer be unsealed. Processes that
   * have used the key keep it in memory until they evict it or end.
   */
  shred(tx: Tx, owner: Owner): Promise<void>;
  /**
   * Re-wraps every data key and system key that is still under the previous master key, online. Returns how many.
   */
  rewrap(system: Sql, batch?: number): Promise<number>;
};

type VaultOptions = {
  cached_keys_max?: number;
  /** Reads the master keys again: called when a key is wrapped by one that is not known here. */
  reload?: () => Promise<void>;
  /** Called for each key that is unwrapped with a master key, not for those that are in memory. */
  onUnwrap?: (purpose: KeyPurpose) => void;
};

/** Owns the table `data_keys`. A sealed value consists of a format byte, the id of its data key (16 bytes) and the output of `sealWith`. */
export function createVault(master: MasterKeys, options: VaultOptions = {}): Vault {
  const { cached_keys_max = 10_000, reload = async () => {}, onUnwrap = () => {} } = options;
  const cache = keyCache(cached_keys_max);

  async function unwrap(row: DataKey, binding: string): Promise<Buffer> {
    const cached = cache.get(row.id);
    if (cached) return cached;
    if (row.master_key_id !== master.current.id && row.master_key_id !== master.previous?.id) await reload();
    const key = unwrapKey(master, row, toBinding(row));
    onUnwrap(readPurpose(binding));
    cache.set(row.id, key);
    return key;
  }

  async function newKey(tx: Tx, owner: Owner): Promise<DataKey> {
    try {
      return await createKey(tx, owner, master);
    } catch (error) {
      // This process missed a rotation. The transaction has failed; the next one will use the new key.
      if (isForeignKeyViolation(error)) await reload();
      throw error;
    }
  }

  return {
    // Reads the row every time instead of caching the owner's key: a key created in a transaction that was rolled back
    // has no row, and values sealed with it would be lost when this process ends.
    seal: async (tx, owner, binding, text) => {
      const row = (await findKey(tx, owner)) ?? (await newKey(tx, owner));
      const sealed = sealWith(await unwrap(row, binding), Buffer.from(text, 'utf8'), binding);
      return Buffer.concat([Buffer.of(format), Buffer.from(row.id, 'hex'), sealed]);
    },
    // A cached key bypasses the tenant policy on data_keys, but not the one on the row with the sealed value.
    unseal: async (tx, sealed, binding) => {
      const id = readKeyId(sealed);
      const key = cache.get(id) ?? (await unwrap(await readKey(tx, id), binding));
      return unsealWith(key, sealed.subarray(header_bytes), binding).toString('utf8');
    },
    unsealInMemory: (sealed, binding) => {
      const key = cache.get(readKeyId(sealed));
      return key && unsealWith(key, sealed.subarray(header_bytes), binding).toString('utf8');
    },
    shred: async (tx, owner) => {
      await tx`DELETE FROM data_keys WHERE owner_id = ${owner.owner_id} AND client_id = ${owner.client_id}`;
    },
    rewrap: async (system, batch = 200) => {
      let total = await rewrapSystemKeys(system, master, onUnwrap);
      for (let done = 1; done > 0; total += done) done = await rewrapBatch(system, master, batch, onUnwrap);
      const foreign = await findForeignMasterKey(system, master);
      if (foreign !== undefined) throw new MasterKeyMissing(foreign);
      return total;
    },
  };
}

/** The id of a master key that a wrapped key needs and this process does not have, if any. */
export async function findForeignMasterKey(system: Sql, master: MasterKeys): Promise<string | undefined> {
  const configured_ids = [master.current.id, master.previous?.id ?? master.current.id];
  const [row] = await system<{ master_key_id: string }[]>`
    (SELECT master_key_id FROM data_keys WHERE master_key_id <> ALL (${configured_ids}) LIMIT 1)
    UNION ALL (SELECT master_key_id FROM system_keys WHERE master_key_id <> ALL (${configured_ids}) LIMIT 1) LIMIT 1`;
  return row?.master_key_id;
}

type DataKey = Owner & { id: string; master_key_id: string; wrapped: Buffer };

const format = 1;
const header_bytes = 1 + 16;

function readKeyId(sealed: Buffer): string {
  if (sealed.length < header_bytes || sealed[0] !== format) {
    throw new SealFailure('A sealed value has a format that this version does not support.');
  }
  return sealed.subarray(1, header_bytes).toString('hex');
}

async function findKey(tx: Tx, owner: Owner): Promise<DataKey | undefined> {
  const [row] = await tx<DataKey[]>`
    SELECT id, client_id, owner_id, master_key_id, wrapped FROM data_keys
    WHERE owner_id = ${owner.owner_id} AND client_id = ${owner.client_id}`;
  return row && plainIds(row);
}

/** If two transactions both find no key, the second waits here for the first and reads its key. */
async function createKey(tx: Tx, owner: Owner, master: MasterKeys): Promise<DataKey> {
  const key = plainIds({ id: newId(), ...owner, master_key_id: '', wrapped: Buffer.alloc(0) });
  const { master_key_id, wrapped } = wrapKey(master, randomBytes(32), toBinding(key));
  await tx`
    INSERT INTO data_keys (id, client_id, owner_id, master_key_id, wrapped)
    VALUES (${key.id}, ${owner.client_id}, ${owner.owner_id}, ${master_key_id}, ${wrapped})
    ON CONFLICT (owner_id) DO NOTHING`;
  const row = await findKey(tx, owner);
  if (row) return row;
  throw new SealFailure('The owner of a secret belongs to another client.');
}

async function readKey(tx: Tx, id: string): Promise<DataKey> {
  const [row] = await tx<DataKey[]>`
    SELECT id, client_id, owner_id, master_key_id, wrapped FROM data_keys WHERE id = ${id}`;
  if (row) return plainIds(row);
  throw new SealFailure('The data key of a sealed value does not exist or belongs to another client.');
}

/**
 * SKIP LOCKED lets several processes share the work. NO KEY UPDATE is the lock that the update takes anyway; unlike FOR
 * UPDATE it does not block inserts that reference the data key. Readers never wait: they see the old or the new wrapping,
 * and both can be unwrapped.
 */
async function rewrapBatch(
  system: Sql,
  master: MasterKeys,
  batch: number,
  onUnwrap: (purpose: KeyPurpose) => void,
): Promise<number> {
  const { previous } = master;
  if (!previous) return 0;
  return system.begin(async (tx) => {
    const rows = await tx<DataKey[]>`
      SELECT id, client_id, owner_id, master_key_id, wrapped FROM data_keys
      WHERE master_key_id = ${previous.id} ORDER BY id LIMIT ${batch} FOR NO KEY UPDATE SKIP LOCKED`;
    const rewrapped = rows.map((row) => {
      const binding = toBinding(plainIds(row));
      const key = unwrapKey(master, row, binding);
      onUnwrap('rotation');
      return wrapKey(master, key, binding);
    });
    const [ids, master_key_ids, wrapped] = [
      rows.map((row) => row.id),
      rewrapped.map((key) => key.master_key_id),
      rewrapped.map((key) => key.wrapped),
    ];
    await tx`
      UPDATE data_keys SET master_key_id = key.master_key_id, wrapped = key.wrapped
        FROM unnest(${ids}::uuid[], ${master_key_ids}::text[], ${wrapped}::bytea[]) AS key (id, master_key_id, wrapped)
       WHERE data_keys.id = key.id`;
    return rows.length;
  });
}

function toBinding(row: DataKey): string {
  return `data_keys:${row.id}:${row.client_id}:${row.owner_id}`;
}

/** Ids are part of the binding, so they need one spelling whatever the connection's settings: no hyphens. */
function plainIds(row: DataKey): DataKey {
  const plain = (id: string) => id.replaceAll('-', '').toLowerCase();
  return { ...row, id: plain(row.id), client_id: plain(row.client_id), owner_id: plain(row.owner_id) };
}

/** Evicts the least recently used keys. Evicted keys are not zeroed: a call in progress may still use one. */
function keyCache(entries_max: number) {
  const entries = new Map<string, Buffer>();
  return {
    get: (id: string): Buffer | undefined => {
      const key = entries.get(id);
      if (key && entries.delete(id)) entries.set(id, key);
      return key;
    },
    set: (id: string, key: Buffer): void => {
      entries.set(id, key);
      const [oldest] = entries.keys();
      if (entries.size > entries_max && oldest !== undefined) entries.delete(oldest);
    },
  };
}
