import type { Command } from 'commander';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { printJson, printLine, printTable } from '../output.ts';
import { type ServiceOptions, serviceCommand, withService } from './service.ts';

type Rotated = { message: string; webhook_id: string; webhook_secret: string };
type RotateOptions = ServiceOptions & { immediately?: true };

export function addWebhooks(program: Command, env: Environment): void {
  const webhooks = program.command('webhooks').description('list webhook endpoints and rotate their secrets');
  serviceCommand(webhooks, 'list', 'list the webhook endpoints').action((options: ServiceOptions) =>
    withService(env, options, async ({ client }) => {
      const { webhook_urls } = await client.webhook.list();
      if (options.json) return printJson({ webhooks: webhook_urls });
      if (webhook_urls.length === 0) return printLine('No webhook endpoints.');
      printTable(
        ['endpoint', 'status', 'event types', 'URL'],
        webhook_urls.map(({ id, status, event_types, url }) => [id, status, event_types?.join(', ') ?? 'all', url]),
      );
    }),
  );
  serviceCommand(webhooks, 'rotate-secret <id>', 'create a new secret for a webhook endpoint')
    .option('--immediately', 'make the old one invalid at once instead of after 24 hours')
    .action((id: string, options: RotateOptions) =>
      withService(env, options, async ({ transport }) => {
        const { message, webhook_id, webhook_secret } = await transport.request<Rotated>({
          method: 'POST',
          path: `/v1/webhook/${encodeURIComponent(id)}/rotate-secret`,
          body: { immediately: options.immediately ?? false },
        });
        if (options.json) return printJson({ webhook_id, webhook_secret });
        printLine(message);
        printLine(`webhook_secret ${webhook_secret}`);
      }),
    );
}
