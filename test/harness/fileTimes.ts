import { afterAll } from 'vitest';
import { descendantsCpuMs } from './cpuTime.ts';

declare module 'vitest' {
  interface TaskMeta {
    cpu?: { own_ms: number; children_ms: number };
  }
}

/**
 * A setup file, which Vitest runs before each test file in the same process: it measures the CPU time of the file, from
 * before its imports to after its last hook, for the table that `scripts/test.mjs` prints.
 *
 * - `own_ms`: the worker process, with everything that runs in it (service, Larkspur, FHIR server). Also what an earlier
 *   file left running, such as a shared sandbox.
 * - `children_ms`: programs that the file started: Chromium (also if it was started by an earlier file), `chartwire`,
 *   PostgreSQL servers of its own.
 * - Not counted: the one PostgreSQL server that all files use, whose time is reported for the whole run, and the Vitest
 *   process, which compiles the sources.
 */
const started = { own: process.cpuUsage(), children_ms: descendantsCpuMs(process.pid) };

// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from this parameter.
afterAll(({}, { file }) => {
  const { user, system } = process.cpuUsage(started.own);
  file.meta.cpu = {
    own_ms: Math.round((user + system) / 1_000),
    children_ms: Math.max(0, descendantsCpuMs(process.pid) - started.children_ms),
  };
});
