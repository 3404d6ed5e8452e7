import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartFailure } from '../errors.ts';
import type { Environment } from './settingValues.ts';

/** Where a secret is set. `file`: its path, if it is in one. */
export type SecretSource = { name: string; text: string; file?: string };

/** `values`: by name, those of the environment included. `sources`: of each secret that is set. */
export type ResolvedSecrets = { values: Environment; sources: SecretSource[] };

/** No secret is longer. A larger file is another one. */
const bytes_max = 65_536;

/**
 * Finds each secret where it is set: in its variable, in the file that the variable with the suffix _FILE names, or in
 * the systemd credential of its name. Two sources are a mistake, such as a rotation that changed only one of them.
 */
export function resolveSecrets(
  env: Environment,
  { secrets, settings }: { secrets: readonly string[]; settings: readonly string[] },
): ResolvedSecrets {
  const credentials = listCredentials(env.CREDENTIALS_DIRECTORY?.trim(), secrets);
  const resolved: ResolvedSecrets = { values: {}, sources: [] };
  for (const name of secrets) {
    const file = env[`${name}_FILE`]?.trim();
    const command = `${name}_COMMAND`;
    const credential = credentials.get(name);
    const sources: SecretSource[] = [
      ...(env[name]?.trim() ? [{ name, text: name }] : []),
      ...(file ? [{ name, text: `${name}_FILE`, file }] : []),
      ...(settings.includes(command) && env[command]?.trim() ? [{ name, text: command }] : []),
      ...(credential ? [{ name, text: `the systemd credential ${name}`, file: credential }] : []),
    ];
    const [source, second] = sources;
    if (source && second) throw new StartFailure(`${name} is set by ${source.text} and by ${second.text}. Keep one.`);
    if (!source) continue;
    resolved.sources.push(source);
    if (source.file !== undefined) resolved.values[name] = readSecret(source, source.file);
  }
  return resolved;
}

/** The files of the credentials by name. A folder that is missing or belongs to another unit has none for this process. */
function listCredentials(folder: string | undefined, secrets: readonly string[]): Map<string, string> {
  const names = folder ? readFolder(folder) : [];
  const misspelled = names.find((name) => !secrets.includes(name) && secrets.includes(toName(name)));
  if (misspelled !== undefined) {
    throw new StartFailure(`The systemd credential ${misspelled} must be named ${toName(misspelled)}.`);
  }
  return new Map(names.filter((name) => secrets.includes(name)).map((name) => [name, join(folder ?? '', name)]));
}

function toName(credential: string): string {
  return credential.toUpperCase().replaceAll(/[-.]/g, '_');
}

function readFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The content is not repeated in errors. Only regular files: a pipe could be read once, and a device has no end. */
function readSecret({ text }: SecretSource, file: string): string {
  let content: Buffer;
  try {
    content = readRegularFile(file);
  } catch (cause) {
    if (cause instanceof StartFailure) throw new StartFailure(`${text}: ${cause.message}`);
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new StartFailure(`${text}: the file ${file} cannot be read (${code}).`, { cause });
  }
  const lines = content.toString('utf8').trim();
  if (lines === '') throw new StartFailure(`${text}: the file ${file} is empty.`);
  if (/[\0\r\n\uFFFD]/.test(lines)) throw new StartFailure(`${text}: the file ${file} must contain one line of text.`);
  return lines;
}

function readRegularFile(file: string): Buffer {
  // Without waiting for the writer of a pipe.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw new StartFailure(`${file} is not a regular file.`);
    if (stats.size > bytes_max) throw new StartFailure(`the file ${file} is larger than ${bytes_max} bytes.`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
