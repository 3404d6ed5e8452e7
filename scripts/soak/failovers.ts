import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { summary_start } from '../cluster/report.ts';
import { root } from '../serviceProcess.ts';

/** Runs `npm run cluster` and returns its summary as the figure. */
export async function runCluster(rounds: number) {
  const program = join(root, 'dist/scripts/cluster/run.js');
  const child = spawn(process.execPath, [program, '--rounds', `${rounds}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.pipe(process.stdout, { end: false });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const [, summary] = output.split(summary_start);
  if (code !== 0 || summary === undefined) return { passed: false, figures: {}, error: 'The cluster run failed.' };
  return { passed: true, figures: { 34: summary.split('\n')[0] ?? '' } };
}
