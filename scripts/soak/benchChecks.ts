import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { root } from '../serviceProcess.ts';

/** The groups of `npm run bench:check`, or single checks, by the promise that they measure. */
const groups: Record<number, string> = {
  13: 'fairness:hanging-webhooks',
  30: 'fairness',
  31: 'flood',
  32: 'emr-response',
};

/** Runs the groups and returns the figures of their checks. */
export async function runBenchChecks(only: number | undefined) {
  const figures: Record<number, string> = {};
  let passed = true;
  for (const row of Object.keys(groups).map(Number)) {
    if (only !== undefined && only !== row) continue;
    const program = join(root, 'dist/bench/check/run.js');
    const child = spawn(process.execPath, [program, '--only', groups[row] ?? ''], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    process.stdout.write(output);
    passed &&= code === 0;
    const lines = [...output.matchAll(/^(?:ok|FAILED) +[\w-]+:(\S+) +(.*?) {2,}(at most .*)$/gm)];
    figures[row] = lines.map(([, name, measured, limit]) => `${name}: ${measured} (${limit})`).join('; ');
  }
  return { passed, figures };
}
