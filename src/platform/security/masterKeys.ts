import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';
import type { KeyPurpose } from '../../catalog/keyPurposes.ts';
import type { Sql } from '../db/database.ts';
import { SealFailure, sealWith, unsealWith } from './seal.ts';

export type MasterKey = { id: string; key: Buffer };

/**
 * The keys that wrap data keys. New data keys are wrapped by the current one; both can unwrap. To rotate without a
 * failed request while several processes run: set MASTER_KEY_PREVIOUS to the new key in all of them, then swap the two,
 * then re-wrap, then remove the old key.
 */
export type MasterKeys = { current: MasterKey; previous?: MasterKey };

/** Where the keys come from: the settings, or a file that the service manages and can replace. */
export type KeySource = 'settings' | 'file';

const key_file = 'master.key';
const previous_file = 'master.key.previous';
/** The files of DATA_DIR without which a database cannot be decrypted, unless the keys come from the settings. */
export const key_files = [key_file, previous_file] as const;

type Settings = {
  master_key?: Buffer | undefined;
  master_key_previous?: Buffer | undefined;
  data_dir: string;
  log?: { warn(text: string): void } | undefined;
};

/** Loads the master keys from the settings, or from DATA_DIR/master.key, which is created if missing. */
export async function loadMasterKeys(
  settings: Settings,
): Promise<MasterKeys & { source: KeySource; generated: boolean }> {
  const { data_dir, log } = settings;
  if (settings.master_key) {
    return { ...pair(settings.master_key, settings.master_key_previous), source: 'settings', generated: false };
  }
  const { key, generated } = await keyOfFolder(data_dir, log);
  // The file first: it is the key that the newest rotation replaced.
  const before = (await readKey(join(data_dir, previous_file), log)) ?? settings.master_key_previous;
  return { ...pair(key, before), source: 'file', generated };
}

/**
 * Replaces the key file with a new key and keeps the previous key in a second file. Both are on disk before anything is
 * wrapped with the new key, so a start after a crash at any point finds the keys it needs.
 */
export async function replaceKeyFile(
  data_dir: string,
  { current, previous }: Required<MasterKeys>,
  onPreviousWritten: () => void = () => {},
): Promise<void> {
  await replaceFile(data_dir, previous_file, previous.key);
  onPreviousWritten();
  await replaceFile(data_dir, key_file, current.key);
}

export function newMasterKey(): MasterKey {
  return identified(randomBytes(32));
}

export async function removePreviousKeyFile(data_dir: string): Promise<void> {
  await rm(join(data_dir, previous_file), { force: true });
}

function pair(key: Buffer, before: Buffer | undefined): MasterKeys {
  const current = identified(key);
  const previous = before && identified(before);
  return { current, ...(previous && previous.id !== current.id ? { previous } : {}) };
}

/** Adds the key's id: 32 bits of its hash, too few to help guess the key. */
export function identified(key: Buffer): MasterKey {
  return { id: `mk_${createHash('sha256').update(key).digest('hex').slice(0, 8)}`, key };
}

async function keyOfFolder(data_dir: string, log: Settings['log']): Promise<{ key: Buffer; generated: boolean }> {
  const file = join(data_dir, key_file);
  const existing = await readKey(file, log);
  if (existing) return { key: existing, generated: false };
  const generated = await writeKey(data_dir, file);
  const key = await readKey(file, log);
  if (key) return { key, generated };
  throw new StartFailure(`The master key file ${file} was removed while it was being read.`);
}

async function readKey(file: string, log: Settings['log']): Promise<Buffer | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
    const { mode } = await stat(file);
    if (mode & 0o077) log?.warn(`The master key file ${file} can be read by other users: run chmod 600 on it.`);
  } catch (cause) {
    if (isCode(cause, 'ENOENT')) return undefined;
    throw new StartFailure(`The master key file ${file} cannot be read.`, { cause });
  }
  if (/^[0-9a-f]{64}$/i.test(text.trim())) return Buffer.from(text.trim(), 'hex');
  throw new StartFailure(`The master key file ${file} must contain exactly 64 hexadecimal digits.`);
}

/**
 * Writes a new key to a temporary file and links it into place. A link fails if the name exists, so of two concurrent
 * starts one wins and both read the same complete key. (Opening the file itself with `wx` could show the loser an empty
 * file, and a crash could leave one behind.) Returns true if this call created the file.
 */
async function writeKey(data_dir: string, file: string): Promise<boolean> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await mkdir(data_dir, { recursive: true });
    await writeSynced(draft, `${randomBytes(32).toString('hex')}\n`);
    await link(draft, file);
    await syncFolder(data_dir);
    return true;
  } catch (cause) {
    if (isCode(cause, 'EEXIST')) return false;
    throw new StartFailure(
      `The master key file ${file} cannot be written; make the folder writable or set MASTER_KEY.`,
      {
        cause,
      },
    );
  } finally {
    await rm(draft, { force: true });
  }
}

async function replaceFile(data_dir: string, name: string, key: Buffer): Promise<void> {
  const draft = join(data_dir, `${name}.${randomBytes(6).toString('hex')}`);
  try {
    await writeSynced(draft, `${key.toString('hex')}\n`);
    await rename(draft, join(data_dir, name));
    await syncFolder(data_dir);
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The directory entry must survive a power failure like the rows that depend on the key. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** A key as stored in the database. */
export type WrappedKey = { master_key_id: string; wrapped: Buffer };

/** The secret is wrapped by a master key that this process does not have. */
export class MasterKeyMissing extends SealFailure {
  readonly master_key_id: string;

  constructor(master_key_id: string) {
    super(
      `A data key is wrapped by the master key ${master_key_id}, which is neither MASTER_KEY nor MASTER_KEY_PREVIOUS.`,
    );
    this.name = 'MasterKeyMissing';
    this.master_key_id = master_key_id;
  }
}

/** Something refers to a master key that is not known to the database, or not anymore. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23503';
}

/** Wraps a key with the current master key; the binding names its row. */
export function wrapKey({ current }: MasterKeys, key: Buffer, binding: string): WrappedKey {
  return { master_key_id: current.id, wrapped: sealWith(current.key, key, binding) };
}

/** Unwraps the result of `wrapKey` with the current or the previous master key. */
export function unwrapKey(master: MasterKeys, { master_key_id, wrapped }: WrappedKey, binding: string): Buffer {
  const master_key = [master.current, master.previous].find((key) => key?.id === master_key_id);
  if (!master_key) throw new MasterKeyMissing(master_key_id);
  return unsealWith(master_key.key, wrapped, binding);
}

/** What a key is used for. A value made for one purpose is not valid for another. */
export type SystemPurpose =
  | 'audit.records'
  | 'audit.chain'
  | 'audit.patients'
  | 'operators'
  | 'erasure'
  | 'emr_apps'
  | 'cursors';

/** Keys for data that belongs to no tenant. */
export type SystemKeys = {
  /** 256 bits for one purpose, the same in every process and after every rotation of the master key. */
  key(purpose: SystemPurpose): Buffer;
  /** Seals a text. The binding names its place ('operators.totp:<id>'); it cannot be unsealed anywhere else. */
  seal(purpose: SystemPurpose, binding: string, text: string): Buffer;
  unseal(purpose: SystemPurpose, binding: string, sealed: Buffer): string;
};

/** Unwraps the installation's random root key, created at the first start. Owns the table `system_keys`. */
export async function loadSystemKeys(
  system: Sql,
  master: MasterKeys,
  onUnwrap: (purpose: KeyPurpose) => void = () => {},
): Promise<SystemKeys> {
  const root = unwrapKey(master, await ensureRow(system, master), binding);
  onUnwrap('start');
  const derived = new Map<SystemPurpose, Buffer>();
  const key = (purpose: SystemPurpose): Buffer => {
    const cached = derived.get(purpose);
    if (cached) return cached;
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
export async function rewrapSystemKeys(
  system: Sql,
  master: MasterKeys,
  onUnwrap: (purpose: KeyPurpose) => void = () => {},
): Promise<number> {
  const { previous } = master;
  if (!previous) return 0;
  return system.begin(async (tx) => {
    const [row] = await tx<WrappedKey[]>`SELECT master_key_id, wrapped FROM system_keys
      WHERE name = ${name} AND master_key_id = ${previous.id} FOR NO KEY UPDATE SKIP LOCKED`;
    if (!row) return 0;
    const { master_key_id, wrapped } = wrapKey(master, unwrapKey(master, row, binding), binding);
    onUnwrap('rotation');
    await tx`UPDATE system_keys SET master_key_id = ${master_key_id}, wrapped = ${wrapped} WHERE name = ${name}`;
    return 1;
  });
}

const name = 'system';
const binding = `system_keys:${name}`;

/** If two processes start for the first time at once, one key is stored and both read it. */
async function ensureRow(system: Sql, master: MasterKeys): Promise<WrappedKey> {
  const find = () => system<WrappedKey[]>`SELECT master_key_id, wrapped FROM system_keys WHERE name = ${name}`;
  const [existing] = await find();
  if (existing) return existing;
  const { master_key_id, wrapped } = wrapKey(master, randomBytes(32), binding);
  await system`INSERT INTO system_keys (name, master_key_id, wrapped) VALUES (${name}, ${master_key_id}, ${wrapped})
    ON CONFLICT DO NOTHING`;
  const [stored] = await find();
  if (!stored) throw new Error('The system key is missing after it was stored.');
  return stored;
}
