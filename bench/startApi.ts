import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, loadConfig } from '../src/catalog/settings/config.ts';
import { type Service, startService } from '../src/main.ts';
import type { Sandbox } from '../src/surfaces/sandbox/seedSandbox.ts';

export type RunningApi = {
  config: Config;
  service: Service;
  /** The credentials of the sandbox's account. */
  headers: Record<string, string>;
  example: Sandbox['example'];
  close(): Promise<void>;
};

/** Starts an API process without a worker, which would compete for the cores, on a seeded sandbox. */
export async function startApi(): Promise<RunningApi> {
  const data_dir = await mkdtemp(join(tmpdir(), 'chartwire-bench-'));
  const limits = { RATE_LIMIT: '1000000', RATE_BURST: '1000000', LOG_LEVEL: 'silent' };
  const config = loadConfig({ ...limits, DATA_DIR: data_dir, PORT: '0', LARKSPUR_PORT: '0' });
  const seeding = await startService(config, { role: 'all', print: () => {} });
  await seeding.close();
  if (!seeding.sandbox) throw new Error('The benchmarks need sandbox mode.');
  const { client_id, client_secret, access_token, example } = seeding.sandbox;
  const service = await startService(config, { role: 'api', print: () => {} });
  return {
    config,
    service,
    headers: { client_id, client_secret, access_token, 'content-type': 'application/json' },
    example,
    close: async () => {
      await service.close();
      await rm(data_dir, { recursive: true, force: true });
    },
  };
}
