/**
 * `npm run soak`: measures the promises of the service over a long time, with every kind of fault. All randomness comes
 * from the seed, which is printed. Writes docs/reference/soak-run.json; `npm run generate` then updates
 * docs/reference/promises.md. Exit code 1 if a promise was broken.
 *
 *   --seed N      repeats an earlier run
 *   --minutes N   how long it takes, about; default 30
 *   --only N      only the stages for one promise, by its row; writes nothing
 */
import { randomInt } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { print, RunError, root, runMain } from '../cluster/programs.ts';
import { describeMachine } from '../machine.ts';
import { result_file, type SoakRun } from './result.ts';
import { stages } from './stages.ts';

await runMain(async () => {
  const option = { type: 'string' } as const;
  const { values } = parseArgs({ options: { seed: option, minutes: option, only: option } });
  const seed = Number(values.seed ?? randomInt(1_000_000));
  const minutes = Number(values.minutes ?? 30);
  const only = values.only === undefined ? undefined : Number(values.only);
  const selected = stages.filter(({ rows, minutes_min }) =>
    only === undefined ? minutes >= minutes_min : rows.includes(only),
  );
  if (selected.length === 0) throw new RunError(`No stage measures promise ${values.only}.`);
  const folder = mkdtempSync(join(tmpdir(), 'chartwire-soak-'));
  // The database server runs as another user.
  chmodSync(folder, 0o755);
  print(`seed ${seed}, ${minutes} minutes, ${selected.length} stages; files in ${folder}`);

  const run: SoakRun = {
    ...{ seed, minutes, date: new Date().toISOString().slice(0, 10), machine: describeMachine() },
    ...{ node: process.versions.node, stages: [] },
  };
  for (const [n, { name, run: runStage }] of selected.entries()) {
    print(`stage ${n + 1} of ${selected.length}: ${name}`);
    const started = Date.now();
    const own = join(folder, name.replaceAll(' ', '-'));
    mkdirSync(own);
    const { passed, figures, invariants } = await runStage({ folder: own, seed, minutes, only });
    const duration_s = Math.round((Date.now() - started) / 1000);
    run.stages.push({ name, passed, duration_s, figures, ...(invariants && { invariants }) });
    for (const [row, text] of Object.entries(figures)) print(`  ${row}: ${text}`);
    print(`${passed ? 'ok' : 'FAILED'}: ${name}, ${duration_s} s`);
  }
  if (only === undefined) writeFileSync(join(root, result_file), `${JSON.stringify(run, null, 2)}\n`);
  const failed = run.stages.filter(({ passed }) => !passed).map(({ name }) => name);
  if (failed.length > 0) throw new RunError(`Failed: ${failed.join(', ')}. The files are kept in ${folder}.`);
  rmSync(folder, { recursive: true, force: true });
  print(`ok: ${run.stages.length} stages`);
});
