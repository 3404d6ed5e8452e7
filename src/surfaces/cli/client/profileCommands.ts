import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { CommandFailure, printJson, printLine, printTable } from '../output.ts';
import { suggest } from '../usage/suggestions.ts';
import { exposure_remedy, isExposed, readProfiles, writeProfiles } from './service.ts';

type AddOptions = { baseUrl: string; clientId: string; clientSecretFile?: string; accessTokenFile?: string };

export function addProfiles(program: Command, env: Environment): void {
  const profile = program.command('profile').description('manage named credentials');
  profile
    .command('add <name>')
    .description('add or replace a profile; the profile `default` is used if none is named')
    .requiredOption('--base-url <url>', 'URL of the service')
    .requiredOption('--client-id <id>', 'the client')
    .option('--client-secret-file <file>', 'file with the client secret; default: standard input')
    .option('--access-token-file <file>', 'file with the access token of an account')
    .addHelpText('after', example)
    .action((name: string, options: AddOptions) => add(env, name, options));
  profile
    .command('list')
    .description('list the profiles, without secrets')
    .option('--json', 'print JSON')
    .action(async ({ json }) => list(env, json));
  profile
    .command('remove <name>')
    .description('remove a profile')
    .action((name: string) => remove(env, name));
}

const example = `
Secrets are never passed as arguments, because other users of the machine can see those.

Examples:
  $ chartwire profile add staging --base-url https://chartwire.example.org --client-id ci_test_… < secret.txt
  $ chartwire jobs list --profile staging
`;

async function add(env: Environment, name: string, options: AddOptions): Promise<void> {
  const url = parseUrl(options.baseUrl);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(
      '--base-url must be the URL of the service, such as https://chartwire.example.org.',
      'usage',
    );
  }
  if (isExposed(url, env)) {
    throw new CommandFailure(`--base-url must use https, except on this machine. ${exposure_remedy}`, 'usage');
  }
  const { clientSecretFile, accessTokenFile } = options;
  const client_secret = clientSecretFile === undefined ? await askSecret() : await readSecret(clientSecretFile);
  if (client_secret === '') throw new CommandFailure('The client secret is empty.', 'usage');
  const access_token = accessTokenFile === undefined ? undefined : await readSecret(accessTokenFile);
  const profiles = await readProfiles(env);
  const added = { base_url: options.baseUrl, client_id: options.clientId, client_secret, access_token };
  await writeProfiles(env, { ...profiles, [name]: added });
  printLine(`Profile '${name}' was saved.`);
}

async function list(env: Environment, json: boolean | undefined): Promise<void> {
  const profiles = Object.entries(await readProfiles(env)).map(([name, { base_url, client_id, access_token }]) => ({
    ...{ name, base_url, client_id },
    has_access_token: access_token !== undefined,
  }));
  if (json) printJson({ profiles });
  else if (profiles.length === 0) printLine('No profiles.');
  else {
    printTable(
      ['name', 'base URL', 'client ID', 'access token'],
      profiles.map((each) => [each.name, each.base_url, each.client_id, each.has_access_token ? 'yes' : 'no']),
    );
  }
}

async function remove(env: Environment, name: string): Promise<void> {
  const { [name]: removed, ...others } = await readProfiles(env);
  if (!removed)
    throw new CommandFailure(
      `There is no profile '${name}'.${suggest(name, Object.keys(others))} See: chartwire profile list`,
    );
  await writeProfiles(env, others);
  printLine(`Profile '${name}' was removed.`);
}

async function readSecret(file: string): Promise<string> {
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CommandFailure(`Cannot read the file ${file}.`, 'usage', { cause });
  });
  return content.trim();
}

/** On a terminal, asks without showing what is typed. */
async function askSecret(): Promise<string> {
  if (!process.stdin.isTTY) return (await text(process.stdin)).trim();
  process.stderr.write('Client secret: ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await new Promise<string>((resolve) => terminal.question('', resolve));
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
