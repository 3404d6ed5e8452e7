import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseUrl } from '../../catalog/parseUrl.ts';
import { type Config, loadConfig } from '../../catalog/settings/config.ts';
import { type Environment, isLoopback } from '../../catalog/settings/settingValues.ts';
import { parseSandbox } from '../sandbox/seedSandbox.ts';

/**
 * The settings of the service that is running. `npm start` may have been given another port than this command, which
 * then finds it in sandbox.json.
 */
export async function findRunning(env: Environment, config: Config): Promise<Config> {
  if (!config.sandbox || env.PORT || env.BASE_URL) return config;
  const text = await readFile(join(config.data_dir, 'sandbox.json'), 'utf8').catch(() => undefined);
  const url = text === undefined ? undefined : parseUrl(parseSandbox(text)?.base_url ?? '');
  if (!url || !isLoopback(url.hostname) || url.port === '' || Number(url.port) === config.port) return config;
  const running = await readReadiness(url.origin);
  return running ? loadConfig(env, { PORT: url.port }) : config;
}

const timeout_ms = 3_000;

type Readiness = { status?: string; warnings?: string[] };

/** What the service says about itself. Undefined if nothing responds there. */
export async function readReadiness(origin: string): Promise<Readiness | undefined> {
  const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(timeout_ms) }).catch(() => undefined);
  return (await response?.json().catch(() => undefined)) as Readiness | undefined;
}
