/** Puts the packages of the lockfile into node_modules when they are not there yet. Needs nothing installed itself. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** What goes wrong before the service runs: one plain sentence, no stack. */
export class Refusal extends Error {}

export function ensureInstalled() {
  requireNode();
  if (inSync()) return;
  process.stdout.write('Installing packages (npm ci).\n');
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund'];
  // The npm that called us is used again: another one may come first in PATH, or none at all.
  const npm = process.env.npm_execpath;
  const [command, ...before] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const { status, error } = spawnSync(command, [...before, ...args], { cwd: root, stdio: 'inherit' });
  if (error) throw new Refusal(`Cannot run npm to install the packages: ${error.message}.`);
  if (status !== 0) throw new Refusal('Installing the packages failed: see what npm says above.');
  writeFileSync(stamp_file, lockHash());
}

/** Runs a script's main function; a refusal ends it with its sentence and exit code 1. */
export async function runScript(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

const stamp_file = join(root, 'node_modules', '.chartwire-lock');

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new Refusal(`Chartwire needs Node 20.19 or newer; this is Node ${process.versions.node}.`);
}

function inSync() {
  if (existsSync(stamp_file) && readFileSync(stamp_file, 'utf8') === lockHash()) return true;
  // Installed by hand: npm keeps its own account of what it has put there, written last.
  if (!matchesNpmsAccount()) return false;
  try {
    writeFileSync(stamp_file, lockHash());
  } catch {
    // Somebody else's folder that we only read: then the comparison is made each time.
  }
  return true;
}

/** With the platform: a node_modules carried to another kind of machine holds the wrong programs. */
function lockHash() {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return createHash('sha256').update(`${process.platform}-${process.arch}\n`).update(lock).digest('hex');
}

function matchesNpmsAccount() {
  const account = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(account)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(readFileSync(account, 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, integrity, optional, os, cpu, libc, link }]) => {
    if (!path.startsWith('node_modules/') || link) return true;
    const found = present[path];
    if (found) return found.version === version && found.integrity === integrity;
    const elsewhere = excludes(os, process.platform) || excludes(cpu, process.arch) || excludes(libc, libcOfSystem());
    return Boolean(optional) && elsewhere;
  });
}

function excludes(names, ours) {
  return Array.isArray(names) && !names.includes(ours);
}

function libcOfSystem() {
  // The report would look up the names of all network addresses, which can take seconds.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
}
