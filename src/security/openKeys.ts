import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Sql } from '../db/database.ts';
import { checkMasterKey } from './checkMasterKey.ts';
import {
  type KeySource,
  loadMasterKeys,
  type MasterKeys,
  removePreviousKeyFile,
  replaceKeyFile,
} from './masterKeys.ts';
import { openSigningKeys, type SigningKeys } from './signingKeys.ts';
import { openSystemKeys, type SystemKeys } from './systemKeys.ts';
import { openVault, type Vault } from './vault.ts';

/** Inspects and rotates the master keys. */
export type KeyRing = {
  source: KeySource;
  /** The keys of this process, and how many keys each master key wraps. */
  describe(): Promise<{ current: string; previous: string | null; wrapped: { id: string; keys: number }[] }>;
  /**
   * Creates a new master key in the key file and re-wraps all keys with it, online. Returns how many were re-wrapped.
   * Undefined if the key comes from the settings, which only an operator can change.
   */
  rotate(): Promise<number | undefined>;
  /** Reads the key file again after another process has replaced it. */
  reload(): Promise<void>;
};

/** Loads the master key, checks it against the database, and unwraps the keys under it. Prints a notice if it was generated. */
export async function openKeys(
  config: Config,
  system: Sql,
  print: (text: string) => void,
): Promise<{ vault: Vault; system_keys: SystemKeys; signing_keys: SigningKeys; key_ring: KeyRing }> {
  const load = () =>
    loadMasterKeys({
      data_dir: config.data_dir,
      ...(config.master_key && { master_key: config.master_key }),
      ...(config.master_key_previous && { master_key_previous: config.master_key_previous }),
    });
  const { generated, source, ...master } = await load();
  if (generated) {
    const file = join(config.data_dir, 'master.key');
    print(`Created a master key: ${file}. Back it up: stored credentials cannot be decrypted without it.\n`);
  }
  await checkMasterKey(system, master);
  const vault = openVault(master);
  const signing_keys = openSigningKeys(system, master);
  const rewrap = async () => (await signing_keys.rewrap()) + (await vault.rewrap(system));
  if (master.previous) {
    await rewrap();
    // No key is wrapped by it anymore; other processes switched to the new key when they were notified.
    if (source === 'file') await removePreviousKeyFile(config.data_dir);
  }
  const key_ring: KeyRing = {
    source,
    describe: async () => ({
      current: master.current.id,
      previous: master.previous?.id ?? null,
      wrapped: await countWrapped(system),
    }),
    rotate: async () => {
      if (source !== 'file') return undefined;
      await rotateFile(config.data_dir, system, master);
      return rewrap();
    },
    reload: async () => {
      if (source === 'file') Object.assign(master, keysOf(await load()));
    },
  };
  return { vault, system_keys: await openSystemKeys(system, master), signing_keys, key_ring };
}

/** The vault and the other key holders share this object, so they use the new keys from here on. */
async function rotateFile(data_dir: string, system: Sql, master: MasterKeys): Promise<void> {
  const made = await replaceKeyFile(data_dir, master.current);
  await checkMasterKey(system, made);
  Object.assign(master, made);
}

function keysOf({ current, previous }: MasterKeys): MasterKeys {
  return { current, ...(previous && { previous }) };
}

async function countWrapped(system: Sql): Promise<{ id: string; keys: number }[]> {
  return system<{ id: string; keys: number }[]>`
    SELECT master_key_id AS id, count(*) AS keys FROM (
      SELECT master_key_id FROM data_keys UNION ALL SELECT master_key_id FROM system_keys
      UNION ALL SELECT master_key_id FROM signing_keys) AS wrapped
    GROUP BY master_key_id ORDER BY master_key_id`;
}
