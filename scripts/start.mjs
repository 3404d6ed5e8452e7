/** `npm start`: installs and builds what is missing, then is the service. */
import { readFileSync } from 'node:fs';
import { build } from './build.mjs';
import { ensureInstalled, runScript } from './install.mjs';

await runScript(async () => {
  endWithNpm();
  ensureInstalled();
  await build();
  const { run } = await import('../dist/src/cli/chartwire.js');
  await run(['serve', ...process.argv.slice(2)]);
});

/** npm passes signals on, except the one it cannot see coming: after a kill -9 of npm the service would live on. */
function endWithNpm() {
  if (process.env.npm_lifecycle_event !== 'start') return;
  const before = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 1000);
  timer.unref();
}

/** Our parent; where that is the shell in which npm runs its scripts (some replace themselves, some wait), npm too. */
function ancestors() {
  const parent = process.ppid;
  if (process.platform !== 'linux') return `${parent}`;
  try {
    // "pid (name) state ppid …"; the name may hold anything, so that the rest is read from its end.
    const stat = readFileSync(`/proc/${parent}/stat`, 'utf8');
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    const above = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
    return /^(ba|da|a|z|k)?sh$|^busybox$/.test(name) ? `${parent} ${above}` : `${parent}`;
  } catch {
    return `${parent}`;
  }
}
