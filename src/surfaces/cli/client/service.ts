import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { Chartwire } from '../../../../sdk/src/client.ts';
import * as sdk from '../../../../sdk/src/errors.ts';
import { Transport } from '../../../../sdk/src/transport.ts';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { type Environment, isLoopback } from '../../../catalog/settings/settingValues.ts';
import { parseSandbox, type Sandbox } from '../../sandbox/seedSandbox.ts';
import { CommandFailure } from '../output.ts';
import { suggest } from '../usage/suggestions.ts';

/** The options of every command that talks to the service. */
export type ServiceOptions = { json?: boolean; profile?: string };

/** The service as a command sees it. */
export type Service = {
  credentials: Credentials;
  /** For all accounts of the client. */
  client: Chartwire;
  /** For the account of the access token. Fails if there is none. */
  account(): Chartwire;
  /** For requests of any kind. */
  transport: Transport;
};

/** A command that talks to the service. */
export function serviceCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .option('--json', 'print JSON')
    .option('--profile <name>', 'use the credentials of this profile');
}

/** The page of a record in the dashboard. */
export function dashboardPage({ base_url, client_id }: Credentials, path: string): string {
  return `${base_url.replace(/\/+$/, '')}/dashboard/clients/${encodeURIComponent(client_id)}/${path}`;
}

/** Finds the credentials and runs the work. Errors of the service become one sentence with the remedy. */
export async function withService(
  env: Environment,
  options: ServiceOptions & { user_agent?: string },
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const credentials = await findCredentials(env, options.profile);
  const {
    base_url: baseUrl,
    client_id: clientId,
    client_secret: clientSecret,
    access_token: accessToken,
  } = credentials;
  // A person is waiting: two retries, about two seconds.
  const common = { baseUrl, clientId, clientSecret, retriesMax: 2, ...fetchAs(options.user_agent) };
  const own = accessToken === undefined ? common : { ...common, accessToken };
  const account = () => {
    if (accessToken !== undefined) return new Chartwire(own);
    throw new CommandFailure(tokenNeeded(credentials), 'credentials');
  };
  await explained(credentials, () =>
    work({ credentials, client: new Chartwire(common), account, transport: new Transport(own) }),
  );
}

/** Sends the name of a program with each request. */
function fetchAs(user_agent: string | undefined): { fetch?: typeof fetch } {
  if (user_agent === undefined) return {};
  return {
    fetch: (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set('user-agent', user_agent);
      return fetch(url, { ...init, headers });
    },
  };
}

function tokenNeeded({ source }: Credentials): string {
  return `This command needs an account’s access token, which is missing from ${source}. Set CHARTWIRE_ACCESS_TOKEN.`;
}

/** Runs the work; an error of the client library is thrown as a `CommandFailure`. */
export async function explained<T>(credentials: Credentials, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof sdk.ChartwireError ? explain(error, credentials) : error;
  }
}

function explain(error: sdk.ChartwireError, credentials: Credentials): CommandFailure {
  const { source, base_url } = credentials;
  const options = { cause: error };
  const failure = (message: string, exit: CommandFailure['exit'] = 'error') =>
    new CommandFailure(message, exit, options);
  if (error instanceof sdk.JobFailedError) return failure(error.message, 'job_failed');
  if (error instanceof sdk.ConnectionError || error instanceof sdk.TimeoutError) {
    if (error instanceof sdk.TimeoutError && error.jobId !== undefined) {
      return failure(
        `Job ${error.jobId} has not finished in time. It continues in the service. Follow it with: chartwire jobs watch ${error.jobId}`,
        'unfinished',
      );
    }
    const where = `at ${base_url} (from ${source})`;
    return error instanceof sdk.TimeoutError
      ? failure(`Chartwire did not respond in time ${where}. Check it with: chartwire doctor`, 'unreachable')
      : failure(`Chartwire cannot be reached ${where}. Is it running? Start it with npm start.`, 'unreachable');
  }
  if (error instanceof sdk.LoginRequiredError) {
    return failure('This account’s link has expired. Re-link it with: chartwire link create --update --open');
  }
  switch (error.code) {
    case 'client_credentials_invalid':
      return failure(
        `The service rejected the client ID or the client secret. Check them in ${source}.`,
        'credentials',
      );
    case 'access_token_missing':
      return failure(tokenNeeded(credentials), 'credentials');
    case 'access_token_invalid':
      return failure(
        `The service rejected the access token. Check it in ${source}: it may belong to another client, or the account was unlinked.`,
        'credentials',
      );
    case 'route_not_found':
      return failure(
        `The service at ${base_url} does not have this endpoint. Check the path, or update the service if it is older than this command.`,
      );
  }
  const exit = error instanceof sdk.ServiceUnavailableError ? 'unreachable' : 'error';
  if (error.status !== undefined && error.code === undefined) {
    const received = `returned status ${error.status}, but the response is not from Chartwire`;
    return failure(`${base_url} (from ${source}) ${received}. Check the URL, and any proxy in between.`, exit);
  }
  // A record that is not found is named by what the person typed.
  const named = error.field === undefined || error instanceof sdk.NotFoundError || error.message.includes(error.field);
  const message = `${error.message}${named ? '' : ` Field: ${error.field}.`}`;
  const advice = error.code === 'internal' ? 'See the service’s log for the cause.' : error.remedy;
  const lines = [
    ...(advice === undefined ? [] : [`→ ${advice}`]),
    ...(error.docUrl === undefined ? [] : [`  ${error.docUrl}`]),
    ...(error.requestId === undefined ? [] : [`  Request ${error.requestId}`]),
  ];
  return failure([message, ...lines].join('\n'), exit);
}

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
    const stored = await readProfile(env, profile);
    if (stored) return checked({ ...stored, source: `profile '${profile}'` }, env);
    const similar = suggest(profile, Object.keys(await readProfiles(env)));
    throw new CommandFailure(
      `There is no profile '${profile}'.${similar} Add it with: chartwire profile add ${profile}`,
      'usage',
    );
  }
  const access_token = env.CHARTWIRE_ACCESS_TOKEN || undefined;
  const credentials = fromEnvironment(env) ?? (await fromDefaultProfile(env)) ?? (await fromSandbox(env));
  if (credentials) return checked(access_token === undefined ? credentials : { ...credentials, access_token }, env);
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
  const stored = await readProfile(env, 'default');
  return stored && { ...stored, source: "profile 'default'" };
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

/** A service and a client of it, stored under a name. */
export type Profile = {
  base_url: string;
  client_id: string;
  client_secret: string;
  access_token?: string | undefined;
};
type Profiles = Record<string, Profile>;

export async function readProfile(env: Environment, name: string): Promise<Profile | undefined> {
  const profiles = await readProfiles(env);
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined;
}

export async function readProfiles(env: Environment): Promise<Profiles> {
  const file = profilesFile(env);
  const stats = await stat(file).catch(() => undefined);
  if (!stats) return {};
  // Windows has no such modes.
  if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0) {
    throw new CommandFailure(`Other users can read ${file}, which contains secrets. Run: chmod 600 ${file}`);
  }
  try {
    // Written by writeProfiles.
    return JSON.parse(await readFile(file, 'utf8')) as Profiles;
  } catch (cause) {
    throw new CommandFailure(`${file} is damaged. Fix it, or remove it and add the profiles again.`, 'error', {
      cause,
    });
  }
}

/** Written to a temporary file and renamed, so that a reader never sees a partial file. */
export async function writeProfiles(env: Environment, profiles: Profiles): Promise<void> {
  const file = profilesFile(env);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.new`;
  await writeFile(temporary, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, file);
}

function profilesFile(env: Environment): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(folder, 'chartwire', 'profiles.json');
}
