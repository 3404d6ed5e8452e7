/**
 * `npm run check:reproducible`: builds the release of the last commit in two folders and compares the archives. Folders,
 * time zone, language, user settings and the rights of new files differ between the two. Takes two builds.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runScript, ScriptError } from '../install.mjs';
import { readCommit } from '../sourceState.mjs';

const machines = [
  { folder: 'a', umask: '022', env: { TZ: 'UTC', LANG: 'C' } },
  { folder: 'another/folder with spaces', umask: '077', env: { TZ: 'Asia/Tokyo', LANG: 'de_DE.UTF-8', USER: 'other' } },
];

await runScript(async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'chartwire-reproducible-'));
  try {
    // The same, even if someone commits meanwhile.
    const commit = readCommit()?.replace('-modified', '');
    if (!commit) throw new ScriptError('This is not a git checkout.');
    const [one, other] = machines.map((machine) => build(scratch, commit, machine));
    const differing = [...new Set([...one.sums.keys(), ...other.sums.keys()])].filter(
      (path) => one.sums.get(path) !== other.sums.get(path),
    );
    if (differing.length > 0) throw new ScriptError(`These files differ between two builds:\n${differing.join('\n')}`);
    if (one.sha256 !== other.sha256) throw new ScriptError('The files are equal, but the archives differ.');
    process.stdout.write(`ok: ${one.sums.size} files, and the archive: ${one.sha256}\n`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

function build(scratch, commit, { folder, umask, env }) {
  const checkout = join(scratch, folder, 'checkout');
  const archive = join(scratch, folder, 'release.tar.gz');
  const release = join(scratch, folder, 'release');
  const home = join(scratch, folder, 'home');
  mkdirSync(home, { recursive: true });
  run('git', ['clone', '--quiet', '--no-local', root, checkout]);
  run('git', ['checkout', '--quiet', '--detach', commit], { cwd: checkout });
  // Hard links, because a copy has 600 MB. Nothing writes into the packages.
  run('cp', ['-al', join(root, 'node_modules'), join(checkout, 'node_modules')]);
  const script = [join(checkout, 'scripts/release/build.mjs'), '--to', release, '--archive', archive];
  const { npm_execpath, PATH } = process.env;
  run('/bin/sh', ['-c', `umask ${umask} && exec "$0" "$@"`, process.execPath, ...script], {
    cwd: checkout,
    env: { PATH, HOME: home, ...(npm_execpath && { npm_execpath }), ...env },
  });
  const lines = readFileSync(join(release, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
  return {
    sums: new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)])),
    sha256: createHash('sha256').update(readFileSync(archive)).digest('hex'),
  };
}

function run(program, args, options = {}) {
  const { error, status } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
  if (error || status !== 0) throw new ScriptError(`${program} ${args.join(' ')} failed. ${error?.message ?? ''}`);
}
