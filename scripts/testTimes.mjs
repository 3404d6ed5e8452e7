/** The times of test files: printed by `npm test`, and kept for the next run. No test fails because of its time. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { times_file } from './build.mjs';
import { root } from './install.mjs';

const shown_max = 30;

/** The times that were measured last, by file. Empty before the first run. */
export function readTimes() {
  if (!existsSync(join(root, times_file))) return {};
  return JSON.parse(readFileSync(join(root, times_file), 'utf8')).files;
}

/** Updates the table with the files that ran; the others keep their times. */
export function storeTimes({ files, database_cpu_ms }) {
  const measured_at = new Date().toISOString();
  const before = readTimes();
  // A failed test may have waited for its timeout.
  const ran = files.map(({ file, ok, passed, times }) =>
    ok
      ? [file, { ...times, tests: passed, measured_at }]
      : [file, { ...(before[file] ?? { tests: passed }), failed: true, measured_at }],
  );
  const all = { ...before, ...Object.fromEntries(ran) };
  const kept = Object.entries(all).filter(([file]) => existsSync(join(root, file)));
  mkdirSync(dirname(join(root, times_file)), { recursive: true });
  const table = { last_run: { measured_at, files: files.length, database_cpu_ms }, files: Object.fromEntries(kept) };
  writeFileSync(join(root, times_file), `${JSON.stringify(table, null, 2)}\n`);
}

/** The slowest files as a table, and the sums of all. */
export function formatTimes({ files, database_cpu_ms }) {
  const slowest = [...files].sort((a, b) => b.times.wall_ms - a.times.wall_ms).slice(0, shown_max);
  const sum = (key) => files.reduce((total, { times }) => total + (times[key] ?? 0), 0);
  const all = { wall_ms: sum('wall_ms'), own_ms: sum('own_ms'), children_ms: sum('children_ms') };
  return [
    `Slowest files, in seconds (all: ${times_file}). CPU: the worker process and what it started; not the database server`,
    `that all files use, which took ${seconds(database_cpu_ms).trim()} s. Files wait for each other, so only CPU times can be compared between runs.`,
    '    wall     cpu  started  file',
    ...slowest.map(({ file, times }) => line(times, file)),
    line(all, `all ${files.length} files`),
  ].join('\n');
}

function line({ wall_ms, own_ms, children_ms }, text) {
  return `${seconds(wall_ms)}${seconds(own_ms)}${seconds(children_ms, 9)}  ${text}`;
}

function seconds(ms, width = 8) {
  return (ms === null ? '–' : (ms / 1000).toFixed(1)).padStart(width);
}
