import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Looks again and again until `isDone`. */
export async function watch(isDone: () => boolean, look: () => Promise<void>): Promise<void> {
  while (!isDone()) {
    await look();
    await pause(50);
  }
}

export async function residentMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', `${pid}`]);
  return Number(stdout) / 1024;
}
