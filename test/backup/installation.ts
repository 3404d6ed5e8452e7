import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { killServer } from '../embedded/fixture.ts';
import { type Api, createApi } from '../harness/api.ts';
import { seededLarkspur } from '../harness/larkspur.ts';
import { runCommand, startProcess, type TestProcess } from '../harness/sandbox.ts';

/**
 * A service with the embedded database, and an EMR whose database is not part of it: the EMR keeps what was written after
 * a backup.
 */
export type Installation = {
  data_dir: string;
  /** An empty folder to restore into. */
  restored_dir: string;
  backup_file: string;
  start(data_dir: string): Promise<TestProcess>;
  /** Runs a command on the installation of a folder. */
  run(data_dir: string, args: readonly string[]): ReturnType<typeof runCommand>;
  backUp(...options: string[]): ReturnType<typeof runCommand>;
  restore(): ReturnType<typeof runCommand>;
  /** The sandbox of the first start. */
  read(): Promise<{ sandbox: Sandbox; api: Api }>;
};

export async function install(settings: Record<string, string> = {}): Promise<Installation> {
  const root = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'backup-'));
  const [data_dir, restored_dir, backup_file] = [join(root, 'data'), join(root, 'restored'), join(root, 'backup')];
  const passphrase_file = join(root, 'passphrase');
  await writeFile(passphrase_file, 'a passphrase for tests\n');
  const emr = await seededLarkspur({ small: true });
  const env = {
    PORT: `${await freePort()}`,
    LARKSPUR_PORT: `${await freePort()}`,
    LARKSPUR_DATABASE_URL: emr.url,
    LOG_LEVEL: 'silent',
    ...settings,
  };
  const processes: TestProcess[] = [];
  onTestFinished(async () => {
    for (const each of processes) await each.stop();
    for (const folder of [data_dir, restored_dir]) await killServer(folder, 'SIGQUIT').catch(() => {});
    await rm(root, { recursive: true, force: true });
    await emr.drop();
  });
  const run: Installation['run'] = (DATA_DIR, args) => runCommand(args, { ...env, DATA_DIR });
  const passphrase = ['--passphrase-file', passphrase_file];
  return {
    data_dir,
    restored_dir,
    backup_file,
    run,
    start: async (DATA_DIR) => {
      const started = await startProcess('all', { ...env, DATA_DIR });
      processes.push(started);
      return started;
    },
    backUp: (...options) => run(data_dir, ['backup', '--to', backup_file, ...passphrase, ...options]),
    restore: () => run(data_dir, ['restore', '--from', backup_file, '--data-dir', restored_dir, ...passphrase]),
    read: async () => {
      const sandbox: Sandbox = JSON.parse(await readFile(join(data_dir, 'sandbox.json'), 'utf8'));
      return { sandbox, api: createApi(sandbox) };
    },
  };
}
