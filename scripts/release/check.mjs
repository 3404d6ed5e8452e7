/**
 * `npm run check:release`: builds the release folder in a place of its own and starts it the way a clean machine would:
 * as an unprivileged user (if run as root), with an empty home folder and no program but Node in PATH. A first write
 * must finish, and nothing may be written outside of the data folder.
 */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ended, firstWrite, ready } from '../firstWrite.mjs';
import { root, runScript, ScriptError } from '../install.mjs';

/** The user `nobody`. */
const unprivileged = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {};

await runScript(async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'chartwire-release-'));
  try {
    chmodSync(scratch, 0o755);
    await check(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

async function check(scratch) {
  const folder = join(scratch, 'chartwire');
  run(process.execPath, [join(root, 'scripts/release/build.mjs'), '--to', folder]);
  run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], folder);
  const { home, programs, data } = machine(scratch);
  const before = listing(folder);
  const env = { PATH: programs, HOME: home, DATA_DIR: data, PORT: '0', LARKSPUR_PORT: '0', LOG_LEVEL: 'warn' };
  const child = spawn('/bin/sh', [join(folder, 'chartwire'), 'serve'], { cwd: data, env, ...unprivileged });
  try {
    await ready(child);
    const sandbox = JSON.parse(readFileSync(join(data, 'sandbox.json'), 'utf8'));
    const job = await firstWrite(sandbox);
    process.stdout.write(`ok: a first write finished: ${job.type} ${job.status}\n`);
    await checkPages(sandbox.base_url);
    process.stdout.write('ok: the documentation is complete\n');
  } finally {
    child.kill('SIGTERM');
    await ended(child);
  }
  if (child.exitCode !== 0) throw new ScriptError(`The service ended with ${child.exitCode ?? child.signalCode}.`);
  if (readdirSync(home).length > 0) throw new ScriptError(`Written to the home folder: ${readdirSync(home)}`);
  if (listing(folder) !== before) throw new ScriptError('The release folder was changed.');
  process.stdout.write('ok: stopped; nothing was written outside of the data folder\n');
}

/** Every page that /llms.txt lists, which come from files of the release folder. */
async function checkPages(base_url) {
  const list = await (await fetch(`${base_url}/llms.txt`)).text();
  const pages = [...list.matchAll(/\((http[^)]+)\.md\)/g)].map(([, page]) => page.replace(/\/quickstart$/, ''));
  if (pages.length === 0) throw new ScriptError('/llms.txt lists no pages.');
  for (const page of [...pages, `${base_url}/docs/docs.js`, `${base_url}/docs/images/link.webp`]) {
    const { status } = await fetch(page);
    if (status !== 200) throw new ScriptError(`${page} returned ${status}.`);
  }
}

/** An empty home folder, a data folder, and a folder with the programs that the release may use. */
function machine(scratch) {
  const [home, programs, data] = ['home', 'programs', 'data'].map((name) => join(scratch, name));
  for (const folder of [home, programs, data]) mkdirSync(folder);
  if (unprivileged.uid !== undefined)
    for (const each of [home, data]) chownSync(each, unprivileged.uid, unprivileged.gid);
  chmodSync(data, 0o700);
  symlinkSync(process.execPath, join(programs, 'node'));
  // The start script finds its own folder with these.
  for (const name of ['dirname', 'readlink']) symlinkSync(join('/usr/bin', name), join(programs, name));
  return { home, programs, data };
}

function listing(folder) {
  return readdirSync(folder, { recursive: true }).sort().join('\n');
}

function run(program, args, cwd = root) {
  const { error, status } = spawnSync(program, args, { cwd, stdio: 'inherit' });
  if (error || status !== 0) throw new ScriptError(`${program} ${args.join(' ')} failed. ${error?.message ?? ''}`);
}
