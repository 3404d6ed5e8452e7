import { join } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import type { KeyPurpose } from '../../catalog/keyPurposes.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Sql, Tx } from '../db/database.ts';
import { readProvidedKeys } from './keyCommand.ts';
import {
  isForeignKeyViolation,
  type KeySource,
  loadMasterKeys,
  loadSystemKeys,
  type MasterKey,
  type MasterKeys,
  newMasterKey,
  removePreviousKeyFile,
  replaceKeyFile,
  rewrapSystemKeys,
  type SystemKeys,
} from './masterKeys.ts';
import { SealFailure, sealWith, unsealWith } from './seal.ts';
import { createVault, findForeignMasterKey, type Vault } from './vault.ts';

/** Inspects and rotates the master keys. */
export type KeyRing = {
  source: KeySource;
  /** The keys of this process, and how many keys each master key wraps. */
  describe(): Promise<{ current: string; previous: string | null; wrapped: { id: string; keys: number }[] }>;
  /**
   * Creates a new master key in the key file and re-wraps all keys with it, online. Returns how many were re-wrapped.
   * Undefined if the key comes from the settings, which only an operator can change. Rotations run one after the other,
   * in all processes. `onStep` is for tests that end the process there.
   */
  rotate(onStep?: (step: RotationStep) => void): Promise<number | undefined>;
  /** Reads the key file again after another process has replaced it. */
  reload(): Promise<void>;
};

export const rotation_steps = ['locked', 'registered', 'previous_kept', 'replaced', 'half_done', 'rewrapped'] as const;
export type RotationStep = (typeof rotation_steps)[number];

/** One entry when keys start to be re-wrapped, and one when they are. */
export type RotationEntry = { outcome: 'started' | 'completed'; from: string; to: string; rewrapped?: number };

type Options = {
  print: (text: string) => void;
  /** Writes an audit record of a rotation, also of one that a restart with MASTER_KEY_PREVIOUS causes. */
  record: (system: Sql, keys: SystemKeys, entry: RotationEntry) => Promise<void>;
  /** Called for each key that is unwrapped with a master key. */
  onUnwrap?: (purpose: KeyPurpose) => void;
};

export type Keys = { vault: Vault; system_keys: SystemKeys; key_ring: KeyRing };

/**
 * Loads the master key, checks it against the database, and unwraps the keys under it. What is still under the previous
 * master key is re-wrapped. Prints a notice if the key was generated.
 */
export async function loadKeys(config: Config, system: Sql, { print, record, onUnwrap }: Options): Promise<Keys> {
  const { data_dir } = config;
  // Before the lock, for which other starts may be waiting: a program may take long.
  const provided = await readProvidedKeys(config);
  const load = () => loadMasterKeys(provided);
  const exclusively = rotationLock(system);
  // With the key in the settings and no rotation in progress, there is nothing to wait for.
  const at_rest = provided.master_key && !provided.master_key_previous;
  const atStart: typeof exclusively = at_rest ? (work) => work() : exclusively;
  return atStart(async () => {
    // Read while no rotation is in progress: the file and the database agree.
    const { generated, source, ...master } = await load();
    if (generated) {
      const file = join(data_dir, 'master.key');
      print(`Created a master key: ${file}. Back it up: stored credentials cannot be decrypted without it.\n`);
    }
    const reload = async () => {
      if (source === 'file') Object.assign(master, pickKeys(await load()));
    };
    await checkMasterKey(system, master);
    const vault = createVault(master, { reload, ...(onUnwrap && { onUnwrap }) });
    const system_keys = await loadSystemKeys(system, master, onUnwrap);
    const rewrap = (onStep: (step: RotationStep) => void = () => {}) =>
      rewrapAll({ system, master, vault, onStep, onUnwrap, record: (entry) => record(system, system_keys, entry) });
    if (master.previous) {
      await rewrap();
      if (source === 'file') await forgetPrevious(data_dir, system, master);
    }
    const key_ring: KeyRing = {
      source,
      describe: async () => ({
        current: master.current.id,
        previous: master.previous?.id ?? null,
        wrapped: await countWrapped(system),
      }),
      rotate: async (onStep = () => {}) => {
        if (source !== 'file') return undefined;
        return exclusively(async () => {
          onStep('locked');
          await finishEarlier(data_dir, system, master, { reload, rewrap });
          const rotated = { current: newMasterKey(), previous: master.current };
          // Registered before any file or secret has it, so that nothing can be wrapped by an unknown key.
          await checkMasterKey(system, rotated);
          onStep('registered');
          await replaceKeyFile(data_dir, rotated, () => onStep('previous_kept'));
          // The vault and the other key holders share this object, so they use the new key from here on.
          Object.assign(master, rotated);
          onStep('replaced');
          return rewrap(onStep);
        });
      },
      reload,
    };
    return { vault, system_keys, key_ring };
  });
}

/**
 * Completes an earlier rotation, by this process or another one. Only two master keys are ever in use: with a third one,
 * what is still under the oldest could not be decrypted anymore.
 */
async function finishEarlier(
  data_dir: string,
  system: Sql,
  master: MasterKeys,
  { reload, rewrap }: { reload: () => Promise<void>; rewrap: () => Promise<number> },
): Promise<void> {
  await reload();
  await checkMasterKey(system, master);
  for (let attempt = 1; master.previous; attempt++) {
    await rewrap();
    if (await forgetPrevious(data_dir, system, master)) return;
    if (attempt === attempts_max) throw new Error('Another process still uses the previous master key. Restart it.');
  }
}

const attempts_max = 5;

/** Removes the previous key unless a process that has not noticed the rotation wraps keys with it. */
async function forgetPrevious(data_dir: string, system: Sql, master: MasterKeys): Promise<boolean> {
  const { previous } = master;
  if (!previous) return true;
  if (!(await retireMasterKey(system, previous.id))) return false;
  await removePreviousKeyFile(data_dir);
  delete master.previous;
  return true;
}

type Rewrap = Pick<Keys, 'vault'> & {
  system: Sql;
  master: MasterKeys;
  onStep: (step: RotationStep) => void;
  onUnwrap: Options['onUnwrap'] | undefined;
  record: (entry: RotationEntry) => Promise<void>;
};

/** Re-wraps everything that is under the previous master key, in batches; a start after a crash continues here. */
async function rewrapAll({ system, master, vault, onStep, onUnwrap, record }: Rewrap): Promise<number> {
  const { current, previous } = master;
  if (!previous) return 0;
  const waiting = (await countWrapped(system)).find(({ id }) => id === previous.id)?.keys ?? 0;
  const ids = { from: previous.id, to: current.id };
  if (waiting > 0) await record({ outcome: 'started', ...ids });
  const of_installation = await rewrapSystemKeys(system, master, onUnwrap);
  onStep('half_done');
  const rewrapped = of_installation + (await vault.rewrap(system));
  onStep('rewrapped');
  if (waiting > 0) await record({ outcome: 'completed', ...ids, rewrapped });
  return rewrapped;
}

function pickKeys({ current, previous }: MasterKeys): MasterKeys {
  return { current, ...(previous && { previous }) };
}

async function countWrapped(system: Sql): Promise<{ id: string; keys: number }[]> {
  return system<{ id: string; keys: number }[]>`
    SELECT master_key_id AS id, count(*) AS keys FROM (
      SELECT master_key_id FROM data_keys UNION ALL SELECT master_key_id FROM system_keys) AS wrapped
    GROUP BY master_key_id ORDER BY master_key_id`;
}

/**
 * Fails the start if the master key cannot decrypt the secrets in the database, before anything is sealed with it.
 * Owns the table `master_keys`: for each key in use, a constant sealed with it. The first start writes the first row;
 * a new key is accepted only together with a known one. `sql` must see the data keys of all clients.
 */
export async function checkMasterKey(sql: Sql, master: MasterKeys): Promise<void> {
  await sql.begin(async (tx) => {
    // Two first starts with different keys must not both find an empty table.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.master_keys', 0))`;
    const rows = await tx<CheckRow[]>`SELECT id, check_value FROM master_keys`;
    if (isKnown(master.current, rows)) return;
    if (rows.length > 0 && !(master.previous && isKnown(master.previous, rows))) throw wrongKey();
    await addKey(tx, master.current);
  });
  const foreign = await findForeignMasterKey(sql, master);
  if (foreign === undefined) return;
  throw new StartFailure(
    `Some secrets are still under the master key ${foreign}. Set MASTER_KEY_PREVIOUS to that key until all are re-wrapped.`,
  );
}

/**
 * Forgets a key that wraps nothing anymore. From then on no process can wrap with it, because wrapped keys reference
 * this table. False if something is still wrapped by it.
 */
export async function retireMasterKey(system: Sql, id: string): Promise<boolean> {
  try {
    await system.pooled`DELETE FROM master_keys WHERE id = ${id}`;
    return true;
  } catch (error) {
    if (isForeignKeyViolation(error)) return false;
    throw error;
  }
}

type CheckRow = { id: string; check_value: Buffer };

const constant = Buffer.from('chartwire master key');

/** The id is only 32 bits of the key's hash; decrypting the constant proves the rest. */
function isKnown(key: MasterKey, rows: readonly CheckRow[]): boolean {
  const row = rows.find((candidate) => candidate.id === key.id);
  if (!row) return false;
  try {
    return unsealWith(key.key, row.check_value, toBinding(key)).equals(constant);
  } catch (cause) {
    if (cause instanceof SealFailure) throw wrongKey(cause);
    throw cause;
  }
}

async function addKey(tx: Tx, key: MasterKey): Promise<void> {
  const check_value = sealWith(key.key, constant, toBinding(key));
  await tx`INSERT INTO master_keys (id, check_value) VALUES (${key.id}, ${check_value})`;
}

function toBinding(key: MasterKey): string {
  return `master_keys:${key.id}`;
}

function wrongKey(cause?: unknown): StartFailure {
  return new StartFailure(
    'MASTER_KEY is not the key this database was set up with. Set the correct key, or set MASTER_KEY_PREVIOUS to it during a rotation.',
    { cause },
  );
}

/** Often enough that no timeout for idle transactions ends the one that holds the lock. */
const heartbeat_ms = 500;

/**
 * Runs work while no other process of the installation rotates master keys. The lock ends with its connection, so a
 * killed process leaves none behind.
 */
export function rotationLock(system: Sql): <T>(work: () => Promise<T>) => Promise<T> {
  // Callers of one process queue here: waiting in the database, they would take all connections that the work needs.
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(() => whileLocked(system, work));
    last = result.catch(() => {});
    return result;
  };
}

function whileLocked<T>(system: Sql, work: () => Promise<T>): Promise<T> {
  return system.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.key_rotation', 0))`;
    // A lost connection fails the commit, and with it the call.
    const heartbeat = setInterval(() => void tx`SELECT 1`.catch(() => {}), heartbeat_ms);
    try {
      return await work();
    } finally {
      clearInterval(heartbeat);
    }
  });
}
