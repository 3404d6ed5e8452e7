import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbedded } from '../../src/platform/db/embedded/start.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: { host: string; port: number; user: string; password: string };
    scratch_folder: string;
  }
}

/** One real PostgreSQL for the whole run; `postgres.ts` creates databases on it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { CHARTWIRE_TEST_DATABASES, CHARTWIRE_TEST_ROOT } = process.env;
  const data_dir = await mkdtemp(join(CHARTWIRE_TEST_DATABASES ?? CHARTWIRE_TEST_ROOT ?? tmpdir(), 'chartwire-tests-'));
  // Durability is not needed in tests, and a run is a third faster without it.
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', scram_iterations: '1' };
  const server = await startEmbedded({ data_dir, settings });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= server.stop().then(() => rm(data_dir, { recursive: true, force: true }));
    return stopped;
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Vitest may exit before its teardown; a second signal then ends the process as usual.
    process.once(signal, () => void stop().finally(() => process.exit(1)));
  }
  const { host, port, user, password } = server;
  await cheapenPassword({ host, port, user, password });
  project.provide('postgres', { host, port, user, password });
  project.provide('scratch_folder', join(data_dir, 'scratch'));
  return stop;
}

/** initdb hashed the password 4,096 times, which both sides repeat for each connection; `scram_iterations` is now 1. */
async function cheapenPassword(address: { host: string; port: number; user: string; password: string }): Promise<void> {
  const client = new pg.Client({ ...address, database: 'postgres' });
  await client.connect();
  await client.query(`ALTER ROLE ${address.user} PASSWORD ${pg.escapeLiteral(address.password)}`);
  await client.end();
}
