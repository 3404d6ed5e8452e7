/**
 * `npm run soak`: measures the promises of the service over a long time, with every kind of fault. All randomness comes
 * from the seed, which is printed. Writes docs/reference/soak-run.json; `npm run generate` then updates
 * docs/reference/promises.md. Exit code 1 if a promise was broken.
 *
 *   --seed N      repeats an earlier run
 *   --minutes N   how long it takes, about; default 30
 *   --only N      only the stages for one promise, by its row; writes nothing
 *   --stage NAME  only one stage; replaces its result, and keeps those of the others
 */
import { randomInt } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { print, RunError, runMain } from '../cluster/programs.ts';
import { describeMachine } from '../machine.ts';
import { root } from '../serviceProcess.ts';
import { result_file, type StageRun } from './result.ts';
import { type Stage, type StageOptions, type StageResult, stages } from './stages.ts';

const option = { type: 'string' } as const;

await runMain(async () => {
  const { values } = parseArgs({ options: { seed: option, minutes: option, only: option, stage: option } });
  const seed = readNumber('seed', values.seed ?? `${randomInt(1_000_000)}`);
  const minutes = readNumber('minutes', values.minutes ?? '30');
  const only = values.only === undefined ? undefined : readNumber('only', values.only);
  const selected = stages.filter(({ name, rows, minutes_min }) => {
    if (values.stage !== undefined) return name === values.stage;
    return only === undefined ? minutes >= minutes_min : rows.includes(only);
  });
  if (selected.length === 0)
    throw new RunError(`There is no such stage. Stages: ${stages.map(({ name }) => name).join(', ')}`);
  const folder = mkdtempSync(join(tmpdir(), 'chartwire-soak-'));
  // The database server runs as another user.
  chmodSync(folder, 0o755);
  print(`seed ${seed}, ${minutes} minutes, ${selected.length} stages; files in ${folder}`);

  const results: StageRun[] = [];
  for (const [n, stage] of selected.entries()) {
    print(`stage ${n + 1} of ${selected.length}: ${stage.name}`);
    results.push(await runStage(stage, { folder: join(folder, stage.name.replaceAll(' ', '-')), seed, minutes, only }));
  }
  if (only === undefined) writeResults(results, values.stage !== undefined);
  const failed = results.filter(({ passed }) => !passed).map(({ name }) => name);
  if (failed.length > 0) throw new RunError(`Failed: ${failed.join(', ')}. The files are kept in ${folder}.`);
  rmSync(folder, { recursive: true, force: true });
  print(`ok: ${results.length} stages`);
});

function readNumber(option: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new RunError(`--${option} must be a number greater than 0, not '${text}'.`);
  return value;
}

async function runStage({ name, run }: Stage, options: StageOptions): Promise<StageRun> {
  const started = Date.now();
  mkdirSync(options.folder);
  // A stage that ends with an error is a failed one, and is recorded as such.
  const { passed, figures, invariants, error } = await run(options).catch(failedStage);
  const duration_s = Math.round((Date.now() - started) / 1000);
  for (const [row, text] of Object.entries(figures)) print(`  ${row}: ${text}`);
  print(`${passed ? 'ok' : 'FAILED'}: ${name}, ${duration_s} s${error === undefined ? '' : `: ${error}`}`);
  const { seed, minutes } = options;
  const place = { at: new Date().toISOString(), machine: describeMachine(), node: process.versions.node };
  return {
    name,
    seed,
    minutes,
    ...place,
    passed,
    duration_s,
    figures,
    ...(invariants && { invariants }),
    ...(error && { error }),
  };
}

function failedStage(error: Error): StageResult {
  return { passed: false, figures: {}, error: error.message };
}

function writeResults(results: readonly StageRun[], keep_others: boolean): void {
  const file = join(root, result_file);
  const before: StageRun[] = keep_others ? JSON.parse(readFileSync(file, 'utf8')) : [];
  const others = before.filter(({ name }) => results.every((each) => each.name !== name));
  const order = stages.map(({ name }) => name);
  const all = [...others, ...results].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
}
