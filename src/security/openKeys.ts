import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Sql } from '../db/database.ts';
import { checkMasterKey } from './checkMasterKey.ts';
import { loadMasterKeys } from './masterKeys.ts';
import { openSystemKeys, type SystemKeys } from './systemKeys.ts';
import { openVault, type Vault } from './vault.ts';

/** Loads the master key, refuses a wrong one, and opens what it wraps. A key that was made just now is told of. */
export async function openKeys(
  config: Config,
  system: Sql,
  print: (text: string) => void,
): Promise<{ vault: Vault; system_keys: SystemKeys }> {
  const { generated, ...master } = await loadMasterKeys({
    data_dir: config.data_dir,
    ...(config.master_key && { master_key: config.master_key }),
    ...(config.master_key_previous && { master_key_previous: config.master_key_previous }),
  });
  if (generated) {
    print(`A master key was made at ${join(config.data_dir, 'master.key')}. Without it no stored credential opens.\n`);
  }
  await checkMasterKey(system, master);
  const vault = openVault(master);
  if (master.previous) await vault.rewrap(system);
  return { vault, system_keys: await openSystemKeys(system, master) };
}
