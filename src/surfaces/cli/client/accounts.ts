import type { Command } from 'commander';
import type { LinkTokenCreate } from '../../../../sdk/src/generated/types.gen.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { hostedLink } from '../../../product/link/linkTokens.ts';
import type { Sandbox } from '../../sandbox/seedSandbox.ts';
import { CommandFailure, printJson, printLine, printProgress, printTable, utc_option } from '../output.ts';
import { formatTime, styleState, zoneName } from '../terminal.ts';
import { openInBrowser } from './open.ts';
import { type Credentials, readSandbox, type ServiceOptions, serviceCommand, withService } from './service.ts';

type RotateOptions = ServiceOptions & { immediately?: true };
type SyncOptions = ServiceOptions & { wait: boolean };

const sync_timeout_ms = 3_600_000;

export function addAccounts(program: Command, env: Environment): void {
  const accounts = program
    .command('accounts')
    .description('list and sync linked accounts, and replace their access tokens');
  serviceCommand(accounts, 'list', 'list the linked accounts')
    .option(...utc_option)
    .action((options: ServiceOptions) =>
      withService(env, options, async ({ client }) => {
        const { accounts } = await client.accounts.list();
        if (options.json) return printJson({ accounts });
        if (accounts.length === 0) return printLine('No accounts. Link one with: chartwire link create');
        printTable(
          [...['account', 'user', 'org', 'EMR', 'status'], `last sync (${zoneName()})`, 'EMR requests', 'waiting jobs'],
          accounts.map((account) => [
            ...[account.access_token_reference_id, account.user_id, account.org_id, account.emr_name],
            styleState(account.status, account.status === 'login_required' ? 'needs re-linking' : account.status),
            account.last_sync ? `${account.last_sync.status} ${formatTime(account.last_sync.at)}` : '–',
            account.last_sync ? String(account.last_sync.emr_requests) : '–',
            String(account.waiting_jobs),
          ]),
        );
      }),
    );
  serviceCommand(accounts, 'rotate-token', 'replace the access token of the account')
    .option('--immediately', 'make the old one invalid at once instead of after 24 hours')
    .action((options: RotateOptions) =>
      withService(env, options, async ({ account, transport }) => {
        // Fails without an access token.
        account();
        const { message, access_token } = await transport.request<{ message: string; access_token: string }>({
          method: 'POST',
          path: '/v1/account/rotate-token',
          body: { immediately: options.immediately ?? false },
        });
        if (options.json) return printJson({ access_token });
        printLine(message);
        printLine(`access_token ${access_token}`);
      }),
    );
  serviceCommand(accounts, 'sync', 'sync the records of the account’s practice from the EMR')
    .option('--no-wait', 'do not wait for the sync to finish')
    .action((options: SyncOptions) =>
      withService(env, options, async (service) => {
        const account = service.account();
        const { job_id } = await account.sync.create();
        if (!options.wait) {
          if (options.json) printJson({ job_id });
          else printLine(`Queued as job ${job_id}. Follow it with: chartwire jobs watch ${job_id}`);
          return;
        }
        printProgress(`Job ${job_id} is running …`);
        const event = await account.jobs.wait(job_id, { timeoutMs: sync_timeout_ms });
        if (options.json) return printJson({ job_id, event });
        const { records = {} } = event.data as { records?: Record<string, number> };
        printTable(
          ['records', 'number'],
          Object.entries(records).map(([kind, count]) => [kind, String(count)]),
        );
      }),
    );
}

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
