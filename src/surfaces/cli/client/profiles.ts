import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { CommandFailure } from '../exits.ts';

/** A service and a client of it, stored under a name. */
export type Profile = {
  base_url: string;
  client_id: string;
  client_secret: string;
  access_token?: string | undefined;
};
type Profiles = Record<string, Profile>;

export async function readProfile(env: Environment, name: string): Promise<Profile | undefined> {
  const profiles = await readProfiles(env);
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

export async function readProfiles(env: Environment): Promise<Profiles> {
  const file = profilesFile(env);
  const found = await stat(file).catch(() => undefined);
  if (!found) return {};
  // Windows has no such modes.
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) {
    throw new CommandFailure(`Other users can read ${file}, which contains secrets. Run: chmod 600 ${file}`);
  }
  try {
    // Written by writeProfiles.
    return JSON.parse(await readFile(file, 'utf8')) as Profiles;
  } catch (cause) {
    throw new CommandFailure(`${file} is damaged. Fix it, or remove it and add the profiles again.`, 'error', {
      cause,
    });
  }
}

/** Written to a temporary file and renamed, so that a reader never sees a partial file. */
export async function writeProfiles(env: Environment, profiles: Profiles): Promise<void> {
  const file = profilesFile(env);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.new`;
  await writeFile(temporary, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, file);
}

function profilesFile(env: Environment): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(folder, 'chartwire', 'profiles.json');
}
