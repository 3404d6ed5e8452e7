import type { Command } from 'commander';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { printJson, printLine, printProgress, printTable, timeOf } from '../output.ts';
import { type ServiceOptions, serviceCommand, withService } from './service.ts';

type RotateOptions = ServiceOptions & { immediately?: true };
type SyncOptions = ServiceOptions & { wait: boolean };

const sync_timeout_ms = 3_600_000;

export function addAccounts(program: Command, env: Environment): void {
  const accounts = program
    .command('accounts')
    .description('list and sync linked accounts, and replace their access tokens');
  serviceCommand(accounts, 'list', 'list the linked accounts').action((options: ServiceOptions) =>
    withService(env, options, async ({ client }) => {
      const { accounts } = await client.accounts.list();
      if (options.json) return printJson({ accounts });
      if (accounts.length === 0) return printLine('No accounts. Link one with: chartwire link create');
      printTable(
        ['account', 'user', 'org', 'EMR', 'status', 'last sync', 'waiting jobs'],
        accounts.map((account) => [
          ...[account.access_token_reference_id, account.user_id, account.org_id, account.emr_name, account.status],
          account.last_sync ? `${account.last_sync.status} ${timeOf(account.last_sync.at)}` : '–',
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
