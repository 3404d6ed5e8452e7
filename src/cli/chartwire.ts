#!/usr/bin/env node
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { mendDriver } from '../db/mendDriver.ts';

/** Runs one command of the program `chartwire`. The driver is mended first, so the rest is loaded only now. */
export async function run(argv: string[]): Promise<void> {
  mendDriver();
  const commands = await import('./run.ts');
  await commands.run(argv);
}

// As a program of its own; scripts/start.mjs imports this file and calls run itself.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await run(process.argv.slice(2));
}
