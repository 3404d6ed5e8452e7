#!/usr/bin/env node
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installation_folder } from './catalog/installation.ts';
import * as commands from './surfaces/cli/run.ts';

const env_file = join(installation_folder, '.env');

/** Runs one command of the program `chartwire`. */
export async function run(argv: string[]): Promise<void> {
  // Loaded for every command, so that all of them use the service's database. Existing variables take precedence.
  if (existsSync(env_file)) process.loadEnvFile(env_file);
  // The reader of a pipe may stop early, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit();
    throw error;
  });
  await commands.run(argv, () => import('./main.ts'));
}

// Run directly. scripts/start.mjs imports this file and calls `run` itself.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await run(process.argv.slice(2));
}
