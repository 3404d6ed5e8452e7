import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with package.json. This module runs from src/, from dist/src/, and bundled from dist/bin/. */
export const installation_folder = findPackage(dirname(fileURLToPath(import.meta.url)));

/** A service that runs from its sources (in tests) also serves what the build has written. */
export const pages_folder = join(installation_folder, 'dist/web');

export const migrations_folder = join(
  installation_folder,
  import.meta.url.endsWith('.ts') ? 'src/platform/db/migrations' : 'dist/src/platform/db/migrations',
);

function findPackage(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('package.json was not found in any folder above this file.');
  return findPackage(parent);
}
