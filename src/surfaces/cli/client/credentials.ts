import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { type Environment, isLoopback } from '../../../catalog/settings/settingValues.ts';
import { parseSandbox } from '../../sandbox/parseSandbox.ts';
import type { Sandbox } from '../../sandbox/seedSandbox.ts';
import { CommandFailure } from '../exits.ts';
import { readProfile } from './profiles.ts';

/** What a command needs to talk to the service, and where it comes from, for messages. */
export type Credentials = {
  base_url: string;
  client_id: string;
  client_secret: string;
  access_token?: string | undefined;
  source: string;
};

const variables = {
  base_url: 'CHARTWIRE_BASE_URL',
  client_id: 'CHARTWIRE_CLIENT_ID',
  client_secret: 'CHARTWIRE_CLIENT_SECRET',
} as const;

/**
 * From the profile that --profile names, else from the environment, else from the profile `default`, else from
 * sandbox.json. CHARTWIRE_ACCESS_TOKEN alone selects an account of a profile or of the sandbox.
 */
export async function findCredentials(env: Environment, profile: string | undefined): Promise<Credentials> {
  if (profile !== undefined) {
    const found = await readProfile(env, profile);
    if (found) return checked({ ...found, source: `profile '${profile}'` }, env);
    throw new CommandFailure(
      `There is no profile '${profile}'. Add it with: chartwire profile add ${profile}`,
      'usage',
    );
  }
  const access_token = env.CHARTWIRE_ACCESS_TOKEN || undefined;
  const found = fromEnvironment(env) ?? (await fromDefaultProfile(env)) ?? (await fromSandbox(env));
  if (found) return checked(access_token === undefined ? found : { ...found, access_token }, env);
  throw new CommandFailure(
    `No credentials: set ${Object.values(variables).join(', ')}, or add a profile (chartwire profile add default), or run this where the sandbox was started with npm start.`,
    'credentials',
  );
}

/** Whether everything sent to this URL could be read in transit, and the user has not accepted that. */
export function isExposed(url: URL, env: Environment): boolean {
  return url.protocol === 'http:' && !isLoopback(url.hostname) && env.CHARTWIRE_INSECURE_HTTP !== 'on';
}

export const exposure_remedy = 'On a trusted network, set CHARTWIRE_INSECURE_HTTP=on.';

/** Otherwise a value that cannot be sent would be reported as an unreachable service. */
function checked(credentials: Credentials, env: Environment): Credentials {
  const { base_url, client_id, client_secret, access_token, source } = credentials;
  const url = typeof base_url === 'string' ? parseUrl(base_url) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(
      `The URL of the service in ${source} is not valid. It must start with https:// or http://.`,
      'credentials',
    );
  }
  if (isExposed(url, env)) {
    throw new CommandFailure(
      `The URL of the service in ${source} must use https, except on this machine: credentials and health data would cross the network in plain text. ${exposure_remedy}`,
      'credentials',
    );
  }
  const values = { 'client ID': client_id, 'client secret': client_secret, 'access token': access_token };
  for (const [name, value] of Object.entries(values)) {
    if ((name === 'access token' && value === undefined) || /^[\x21-\x7e]+$/.test(value ?? '')) continue;
    throw new CommandFailure(
      `The ${name} in ${source} is empty, or contains spaces or other invalid characters. Copy it again.`,
      'credentials',
    );
  }
  return credentials;
}

/** All of them or none: the secret of one service must not be sent to another. */
function fromEnvironment(env: Environment): Credentials | undefined {
  const missing = Object.values(variables).filter((name) => !env[name]);
  if (missing.length === 3) return undefined;
  if (missing.length > 0) {
    throw new CommandFailure(`${missing.join(' and ')} must be set too.`, 'credentials');
  }
  const { base_url, client_id, client_secret } = variables;
  return {
    base_url: env[base_url] ?? '',
    client_id: env[client_id] ?? '',
    client_secret: env[client_secret] ?? '',
    source: 'the variables CHARTWIRE_…',
  };
}

async function fromDefaultProfile(env: Environment): Promise<Credentials | undefined> {
  const found = await readProfile(env, 'default');
  return found && { ...found, source: "profile 'default'" };
}

async function fromSandbox(env: Environment): Promise<Credentials | undefined> {
  const sandbox = await readSandbox(env);
  if (!sandbox) return undefined;
  const { base_url, client_id, client_secret, access_token } = sandbox;
  return { base_url, client_id, client_secret, access_token, source: sandboxFile(env) };
}

/** The sandbox of the data folder, for commands that control it. */
export async function requireSandbox(env: Environment): Promise<Sandbox> {
  const sandbox = await readSandbox(env);
  if (sandbox) return sandbox;
  throw new CommandFailure(
    `There is no sandbox: ${sandboxFile(env)} does not exist. Start it with npm start, and run this in the same folder or set DATA_DIR.`,
    'credentials',
  );
}

export async function readSandbox(env: Environment): Promise<Sandbox | undefined> {
  const text = await readFile(sandboxFile(env), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const sandbox = parseSandbox(text);
  if (sandbox) return sandbox;
  throw new CommandFailure(
    `${sandboxFile(env)} is damaged, or from another version. Start the service again: it rewrites the file.`,
  );
}

function sandboxFile(env: Environment): string {
  return join(resolve(env.DATA_DIR?.trim() || './data'), 'sandbox.json');
}
