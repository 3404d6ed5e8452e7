import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StartFailure } from '../../catalog/errors.ts';

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
