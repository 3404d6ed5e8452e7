/**
 * Installs the packages of the lockfile if they are missing. Uses no packages itself. A third of them are only for
 * checks (test/package.json); what is built runs without the development packages too.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** An error with a message for the user. It is printed without a stack trace. */
export class ScriptError extends Error {}

/** What each purpose installs. A later one includes the earlier ones. */
const purposes = {
  run: ['--omit=dev', '--workspaces=false'],
  build: ['--include=dev', '--workspaces=false'],
  check: ['--include=dev'],
};

export function ensureInstalled({ to: purpose = 'check' } = {}) {
  requireNode();
  if (isInstalled(purpose)) return;
  // npm would empty the link's target, which another checkout may use.
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new ScriptError(
      'node_modules is a symbolic link and does not match package-lock.json. Remove it and run again.',
    );
  }
  // npm ci would first remove the packages of a service that is running from them.
  const how = readStamp().hash === lockHash() ? ['install', '--no-save'] : ['ci'];
  process.stdout.write(`Installing packages (npm ${how[0]}) …\n`);
  const args = [...how, ...purposes[purpose], '--no-audit', '--no-fund'];
  // Uses the npm that runs this script: PATH may contain another one, or none.
  const npm = process.env.npm_execpath;
  const [command, ...before] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const { status, error } = spawnSync(command, [...before, ...args], { cwd: root, stdio: 'inherit' });
  if (error) throw new ScriptError(`Cannot run npm to install the packages: ${error.message}.`);
  if (status !== 0) throw new ScriptError('Installing the packages failed. See the npm errors above.');
  writeStamp(purpose);
}

/** Runs a script's main function. A ScriptError prints its message and sets exit code 1. */
export async function runScript(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

const stamp_file = join(root, 'node_modules', '.chartwire-lock');

/** Older versions lack functions that the scripts use. */
export function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new ScriptError(`Chartwire needs Node 20.19 or later. This is Node ${process.versions.node}.`);
}

function isInstalled(purpose) {
  const stamped = readStamp();
  const order = Object.keys(purposes);
  if (stamped.hash === lockHash() && order.indexOf(stamped.purpose) >= order.indexOf(purpose)) return true;
  // After a manual `npm ci`, compare with npm's own record of what it installed, which it writes last.
  if (!matchesHiddenLockfile({ development: purpose !== 'run' })) return false;
  try {
    if (purpose !== 'run') writeStamp('check');
  } catch {
    // A read-only folder: compare again at the next start.
  }
  return true;
}

function readStamp() {
  const [purpose, hash] = existsSync(stamp_file) ? readFileSync(stamp_file, 'utf8').split(' ') : [];
  return { purpose, hash };
}

function writeStamp(purpose) {
  writeFileSync(stamp_file, `${purpose} ${lockHash()}`);
}

/** Includes the platform, because node_modules contains native binaries. */
function lockHash() {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return createHash('sha256').update(`${process.platform}-${process.arch}\n`).update(lock).digest('hex');
}

/** `development`: whether the development packages must be installed too. */
function matchesHiddenLockfile({ development }) {
  const hidden_lockfile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(hidden_lockfile)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(readFileSync(hidden_lockfile, 'utf8')).packages;
  return Object.entries(wanted).every(
    ([path, { version, integrity, dev, devOptional, optional, os, cpu, libc, link }]) => {
      if (!path.includes('node_modules/') || link) return true;
      if (!development && (dev || devOptional) && !present[path]) return true;
      const installed = present[path];
      if (installed) return installed.version === version && installed.integrity === integrity;
      const other_platform =
        excludes(os, process.platform) || excludes(cpu, process.arch) || excludes(libc, systemLibc());
      return Boolean(optional) && other_platform;
    },
  );
}

function excludes(names, own) {
  return Array.isArray(names) && !names.includes(own);
}

function systemLibc() {
  // Otherwise the report resolves the names of all network addresses, which can take seconds.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
}
