import { type Command, Option } from 'commander';
import type { StoredEvent } from '../../../../sdk/src/generated/types.gen.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { type EventType, event_types } from '../../../model/events.ts';
import { CommandFailure, printJson, printLine, printTable, readCount, utc_option } from '../output.ts';
import { formatTime, type Styled, styleState, zoneName } from '../terminal.ts';
import { takeFirst } from './jobs.ts';
import { dashboardPage, type Service, type ServiceOptions, serviceCommand, withService } from './service.ts';

const delivery_statuses = ['success', 'failed', 'pending'] as const;
type ListOptions = ServiceOptions & {
  type?: EventType;
  job?: number;
  delivery?: (typeof delivery_statuses)[number];
  limit: number;
};

export function addEvents(program: Command, env: Environment): void {
  const events = program.command('events').description('list and resend events');
  serviceCommand(events, 'list', 'list the account’s newest events')
    .addOption(new Option('--type <type>', 'only events of this type, such as patient.created').choices(event_types))
    .option('--job <job_id>', 'only the events of this job', Number)
    .addOption(new Option('--delivery <status>', 'only events with this delivery status').choices(delivery_statuses))
    .option('--limit <number>', 'how many', readCount, 20)
    .option(...utc_option)
    .action((options: ListOptions) => withService(env, options, (service) => list(service, options)));
  serviceCommand(events, 'get <event_id>', 'show an event with its data').action(
    (id: string, options: ServiceOptions) =>
      withService(env, options, async (service) => {
        const event = await find(service, id);
        printJson(options.json ? { event } : event);
      }),
  );
  serviceCommand(events, 'resend <event_id>', 'resend an event to its endpoints').action(
    (id: string, options: ServiceOptions) =>
      withService(env, options, async (service) => {
        const { event_id, deliveries, message } = await service.account().webhookEvents.resend(id);
        if (options.json) printJson({ event_id, deliveries });
        else printLine(message);
      }),
  );
}

async function list(service: Service, { json, type, job, delivery, limit }: ListOptions): Promise<void> {
  const query = {
    page_size: Math.min(limit, 100),
    ...(type !== undefined && { event_type: type }),
    ...(job !== undefined && { job_id: job }),
    ...(delivery !== undefined && { delivery_status: delivery }),
  };
  const events = await takeFirst(service.account().webhookEvents.list(query), limit);
  if (json) printJson({ events });
  else if (events.length === 0) printLine('No events.');
  else {
    const retried = await listRetried(service, events);
    const { credentials } = service;
    printTable(
      ['event', 'type', 'job', `created (${zoneName()})`, 'delivery'],
      events.map((event) => [
        { text: event.id, url: dashboardPage(credentials, `events/${event.id}`) },
        ...[event.type, event.job_id ?? '–', formatTime(event.created_at), describeDelivery(event, retried)],
      ]),
    );
  }
}

/** The words of the dashboard. */
function describeDelivery({ id, delivery_status }: StoredEvent, retried: ReadonlySet<string>): Styled {
  switch (delivery_status) {
    case 'success':
      return styleState('success', 'delivered');
    case 'failed':
      return styleState('failed');
    case 'pending':
      return retried.has(id) ? styleState('retrying') : styleState('pending');
    case null:
      return styleState('none', 'no endpoints');
  }
}

/** The pending events of which an attempt has failed, according to the deliveries of every endpoint. */
async function listRetried({ client }: Service, events: readonly StoredEvent[]): Promise<ReadonlySet<string>> {
  if (!events.some(({ delivery_status }) => delivery_status === 'pending')) return new Set();
  const { webhook_urls } = await client.webhook.list();
  const pages = await Promise.all(
    webhook_urls.map(({ id }) => client.webhook.deliveries.list(id, { status: 'pending', page_size: 100 })),
  );
  const tried = pages.flatMap(({ deliveries }) => deliveries.filter(({ attempts }) => attempts.length > 0));
  return new Set(tried.map(({ event_id }) => event_id));
}

/** There is no endpoint for one event. An ID contains its time, which limits the search to two minutes. */
async function find(service: Service, id: string): Promise<StoredEvent> {
  const created_ms = Number.parseInt(id.slice(0, 12), 16);
  if (/^0[0-9a-f]{31}$/.test(id)) {
    const start_date = new Date(created_ms - 60_000).toISOString();
    const end_date = new Date(created_ms + 60_000).toISOString();
    for await (const event of service.account().webhookEvents.list({ start_date, end_date, page_size: 100 })) {
      if (event.id === id) return event;
    }
  }
  throw new CommandFailure(`The account has no event '${id}'. See: chartwire events list`);
}
