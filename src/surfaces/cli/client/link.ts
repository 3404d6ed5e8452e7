import type { Command } from 'commander';
import type { LinkTokenCreate } from '../../../../sdk/src/generated/types.gen.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { hostedLink } from '../../../product/link/linkTokens.ts';
import type { Sandbox } from '../../sandbox/seedSandbox.ts';
import { CommandFailure } from '../exits.ts';
import { printJson, printLine } from '../output.ts';
import { openInBrowser } from './browser.ts';
import { type Credentials, readSandbox } from './credentials.ts';
import { serviceCommand, type ServiceOptions, withService } from './service.ts';

type LinkOptions = ServiceOptions & {
  user?: string;
  org?: string;
  emr?: string;
  address?: string;
  app?: string;
  callbackUrl?: string;
  update?: boolean;
  open?: boolean;
};

export function addLink(program: Command, env: Environment): void {
  const link = program.command('link').description('link EMR accounts');
  serviceCommand(link, 'create', 'create a link token and print the page where staff sign in')
    .option('--user <user_id>', 'your ID for the person; sandbox default: developer')
    .option('--org <org_id>', 'your ID for the practice; sandbox default: its practice')
    .option('--emr <name>', 'the EMR, for a new practice')
    .option('--address <url>', 'URL of the EMR, for a new practice')
    .option('--app <emr_app_id>', 'the EMR app to use')
    .option('--callback-url <url>', 'where the page returns to; it must be registered for the client')
    .option('--update', 're-link the account of the access token')
    .option('--open', 'open the page in the browser')
    .addHelpText('after', '\nExample:\n  $ chartwire link create --org practice-1 --user user-1 --open\n')
    .action((options: LinkOptions) =>
      withService(env, options, async ({ client, credentials }) => {
        const sandbox = await readSandbox(env);
        const own = sandbox?.client_id === credentials.client_id ? sandbox : undefined;
        const { token } = await client.link.token.create(requestFor(options, credentials, own));
        const url = hostedLink(credentials.base_url, token);
        if (options.json) printJson({ link_token: token, url });
        else printLine(url);
        if (options.open) await openInBrowser(url, env);
      }),
    );
}

function requestFor(options: LinkOptions, credentials: Credentials, sandbox: Sandbox | undefined): LinkTokenCreate {
  const { emr, address, app, callbackUrl, update } = options;
  const user_id = options.user ?? (update ? sandbox?.user_id : sandbox && 'developer');
  const org_id = options.org ?? sandbox?.org_id;
  if (user_id === undefined || org_id === undefined) {
    throw new CommandFailure('--user and --org are required: your IDs for the person and the practice.', 'usage');
  }
  const { access_token } = credentials;
  if (update && access_token === undefined) {
    throw new CommandFailure(
      '--update needs the access token of the account: set CHARTWIRE_ACCESS_TOKEN.',
      'credentials',
    );
  }
  return {
    user_id,
    org_id,
    ...(emr !== undefined && { emr_name: emr }),
    ...(address !== undefined && { emr_instance_domain: address }),
    ...(app !== undefined && { emr_app_id: app }),
    ...(callbackUrl !== undefined && { callback_url: callbackUrl }),
    ...(update && access_token !== undefined && { access_token }),
  };
}
