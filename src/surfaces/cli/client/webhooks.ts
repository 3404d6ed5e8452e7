import { type Command, Option } from 'commander';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { type EventType, event_types } from '../../../model/events.ts';
import { CommandFailure, printJson, printLine, printTable, readCount, utc_option } from '../output.ts';
import { formatTime, styleState, zoneName } from '../terminal.ts';
import { suggest } from '../usage/suggestions.ts';
import { takeFirst } from './jobs.ts';
import { type Service, type ServiceOptions, serviceCommand, withService } from './service.ts';

type Rotated = { message: string; webhook_id: string; webhook_secret: string };
type RotateOptions = ServiceOptions & { immediately?: true };
type UpdateOptions = ServiceOptions & {
  url?: string;
  types?: string;
  orgs?: string;
  syncEvents?: boolean;
};
type DeliveryOptions = ServiceOptions & { status?: 'success' | 'failed' | 'pending'; limit: number };

export function addWebhooks(program: Command, env: Environment): void {
  const webhooks = program.command('webhooks').description('list, change and test webhook endpoints');
  serviceCommand(webhooks, 'list', 'list the webhook endpoints').action((options: ServiceOptions) =>
    withService(env, options, async ({ client }) => {
      const { webhook_urls } = await client.webhook.list();
      if (options.json) return printJson({ webhooks: webhook_urls });
      if (webhook_urls.length === 0) return printLine('No webhook endpoints.');
      printTable(
        ['endpoint', 'status', 'event types', 'sync events', 'organizations', 'URL'],
        webhook_urls.map(({ id, status, paused, event_types, sync_events, org_ids, url }) => [
          ...[id, styleState(paused ? 'paused' : status, paused ? `${status}, paused` : status)],
          ...[event_types?.join(', ') ?? 'all', sync_events ? 'on' : 'off'],
          ...[org_ids?.join(', ') ?? 'all', url],
        ]),
      );
    }),
  );
  serviceCommand(webhooks, 'update <id>', 'change a webhook endpoint')
    .option('--url <url>', 'where events are sent')
    .option('--types <types>', 'event types, separated by commas, or all')
    .option('--orgs <org_ids>', 'your IDs of organizations, separated by commas, or all')
    .option('--sync-events', 'also send events about changes that staff made in the EMR')
    .option('--no-sync-events', 'send only the events of your requests')
    .action((id: string, options: UpdateOptions) =>
      withService(env, options, async (service) => {
        const { url, types, orgs, syncEvents } = options;
        await update(service, id, options, {
          ...(url !== undefined && { webhook_url: url }),
          ...(types !== undefined && { event_types: readTypes(types) }),
          ...(orgs !== undefined && { org_ids: readNames(orgs) }),
          ...(syncEvents !== undefined && { sync_events: syncEvents }),
        });
      }),
    );
  for (const [name, paused, summary] of [
    ['pause', true, 'keep deliveries to a webhook endpoint waiting'],
    ['resume', false, 'send the deliveries that have waited for a paused webhook endpoint'],
  ] as const) {
    serviceCommand(webhooks, `${name} <id>`, summary).action((id: string, options: ServiceOptions) =>
      withService(env, options, (service) => update(service, id, options, { paused })),
    );
  }
  serviceCommand(webhooks, 'test <id>', 'send a test event to a webhook endpoint').action(
    (id: string, options: ServiceOptions) =>
      withService(env, options, async ({ client }) => {
        const { success: _success, ...result } = await client.webhook.test(id);
        if (options.json) return printJson(result);
        printLine(`${result.message} ${result.problem ?? `Status ${result.status_code}`} (${result.duration_ms} ms)`);
        if (result.response_start !== null) printLine(result.response_start);
      }),
  );
  serviceCommand(webhooks, 'deliveries <id>', 'list the newest deliveries to a webhook endpoint')
    .addOption(
      new Option('--status <status>', 'only deliveries with this status').choices(['success', 'failed', 'pending']),
    )
    .option('--limit <number>', 'how many', readCount, 20)
    .option(...utc_option)
    .action((id: string, options: DeliveryOptions) =>
      withService(env, options, (service) => listDeliveries(service, id, options)),
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

type WebhookChanges = Parameters<Service['client']['webhook']['update']>[1];

async function update(
  { client }: Service,
  id: string,
  { json }: ServiceOptions,
  changes: WebhookChanges,
): Promise<void> {
  const { message, webhook } = await client.webhook.update(id, changes);
  if (json) printJson({ webhook });
  else printLine(message);
}

/** The names in a list with commas; null for `all`. */
function readNames(list: string): string[] | null {
  return list.trim() === 'all' ? null : list.split(',').map((each) => each.trim());
}

function readTypes(list: string): EventType[] | null {
  const types = readNames(list)?.map((name) => {
    const type = event_types.find((each) => each === name);
    if (!type) throw new CommandFailure(`There is no event type '${name}'.${suggest(name, event_types)}`);
    return type;
  });
  return types ?? null;
}

/** The words of the dashboard. */
const deliveryWords = { success: 'delivered', failed: 'failed', pending: 'pending' };

async function listDeliveries(
  { client }: Service,
  id: string,
  { json, status, limit }: DeliveryOptions,
): Promise<void> {
  const query = { page_size: Math.min(limit, 100), ...(status !== undefined && { status }) };
  const deliveries = await takeFirst(client.webhook.deliveries.list(id, query), limit);
  if (json) return printJson({ deliveries });
  if (deliveries.length === 0) return printLine('No deliveries.');
  printTable(
    ['event', 'type', `created (${zoneName()})`, 'status', 'attempts', 'last attempt'],
    deliveries.map(({ event_id, event_type, created_at, status, attempts: [last, ...earlier] }) => [
      ...[event_id, event_type, formatTime(created_at)],
      status === 'pending' && last ? styleState('retrying') : styleState(status, deliveryWords[status]),
      String(earlier.length + (last ? 1 : 0)),
      last ? `${last.problem ?? last.status_code} (${last.duration_ms} ms)` : '–',
    ]),
  );
}
