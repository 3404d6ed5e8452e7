/**
 * `npm start`: installs the packages and builds if necessary, then runs the service in this process. If it is built,
 * `npm ci --omit=dev` is enough.
 */
import { readFileSync } from 'node:fs';
import { buildService, isServiceUpToDate } from './build.mjs';
import { ensureInstalled, requireNode, runScript } from './install.mjs';
import { requireFreePorts } from './ports.mjs';

await runScript(async () => {
  stopWithNpm();
  requireNode();
  await requireFreePorts(process.argv.slice(2));
  const built = isServiceUpToDate();
  ensureInstalled({ to: built ? 'run' : 'build' });
  if (!built) await buildService();
  const { run } = await import('../dist/bin/chartwire.js');
  await run(['serve', ...process.argv.slice(2)]);
});

/** npm forwards signals, but not SIGKILL: without this, the service would keep running after a kill -9 of npm. */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event !== 'start') return;
  const before = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 1000);
  timer.unref();
}

/** The parent process, and the grandparent if the parent is the shell that npm runs scripts in (some shells exec). */
function ancestors() {
  const parent = process.ppid;
  if (process.platform !== 'linux') return `${parent}`;
  try {
    // "pid (name) state ppid …". The name may contain any character, so the rest is parsed from the last parenthesis.
    const stat = readFileSync(`/proc/${parent}/stat`, 'utf8');
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    const above = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
    return /^(ba|da|a|z|k)?sh$|^busybox$/.test(name) ? `${parent} ${above}` : `${parent}`;
  } catch {
    return `${parent}`;
  }
}
