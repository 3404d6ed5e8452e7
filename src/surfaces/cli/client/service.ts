import type { Command } from 'commander';
import { Chartwire } from '../../../../sdk/src/client.ts';
import * as sdk from '../../../../sdk/src/errors.ts';
import { Transport } from '../../../../sdk/src/transport.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { CommandFailure } from '../exits.ts';
import { type Credentials, findCredentials } from './credentials.ts';

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

/** Finds the credentials and runs the work. Errors of the service become one sentence with the remedy. */
export async function withService(
  env: Environment,
  options: ServiceOptions,
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
  const common = { baseUrl, clientId, clientSecret, retriesMax: 2 };
  const own = accessToken === undefined ? common : { ...common, accessToken };
  const account = () => {
    if (accessToken !== undefined) return new Chartwire(own);
    throw new CommandFailure(tokenNeeded(credentials), 'credentials');
  };
  await explained(credentials, () =>
    work({ credentials, client: new Chartwire(common), account, transport: new Transport(own) }),
  );
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
    const what = error instanceof sdk.TimeoutError ? 'did not respond in time' : 'cannot be reached';
    return failure(
      `Chartwire ${what} at ${base_url} (from ${source}). Is it running? Start it with npm start.`,
      'unreachable',
    );
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
        `The service at ${base_url} does not have this endpoint, because it is older than this command. Update the service, or check the path.`,
      );
  }
  const exit = error instanceof sdk.ServiceUnavailableError ? 'unreachable' : 'error';
  if (error.status !== undefined && error.code === undefined) {
    const received = `returned status ${error.status}, but the response is not from Chartwire`;
    return failure(`${base_url} (from ${source}) ${received}. Check the URL, and any proxy in between.`, exit);
  }
  const id = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
  if (error.code === 'internal') return failure(`${error.message} See the service’s log for the cause.${id}`);
  // Named like the field, so that the remedy is clear.
  const field = error.field === undefined || error.message.includes(error.field) ? '' : ` Field: ${error.field}.`;
  return failure(`${error.message}${field}${id}`, exit);
}
