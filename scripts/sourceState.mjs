/** From which commit something is built, and when it was made. Everything that a build dates has that time. */
import { spawnSync } from 'node:child_process';
import { root, ScriptError } from './install.mjs';

/** The hash of the commit, with the suffix -modified if files have changed since; null outside of a git checkout. */
export function readCommit() {
  const hash = git('rev-parse', 'HEAD');
  // Also if an unpacked archive is inside of another checkout.
  if (hash === undefined || git('rev-parse', '--show-prefix') !== '') return null;
  return git('status', '--porcelain') === '' ? hash : `${hash}-modified`;
}

/** Seconds since 1970: SOURCE_DATE_EPOCH, else the time of the commit, else 1980, the oldest time that all archives know. */
export function readModifiedTime() {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given) {
    if (/^\d{1,10}$/.test(given)) return Number(given);
    throw new ScriptError('SOURCE_DATE_EPOCH must be a number of seconds since 1970.');
  }
  return Number((readCommit() && git('log', '-1', '--format=%ct')) || 315_532_800);
}

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
