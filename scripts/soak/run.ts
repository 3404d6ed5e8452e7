import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runMain } from '../cluster/programs.ts';
import { runMixed } from './mixed/run.ts';

await runMain(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chartwire-soak-'));
  chmodSync(folder, 0o755);
  process.stdout.write(`${folder}\n`);
  const result = await runMixed({ folder, seed: Number(process.argv[2] ?? 1), minutes: Number(process.argv[3] ?? 1) });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
});
