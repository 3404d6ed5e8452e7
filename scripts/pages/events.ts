import type { Document } from '../../src/http/openapi/document.ts';
import { type EventType, event_types } from '../../src/model/events.ts';
import { retry } from '../../src/platform/worker/backoff.ts';
import { retry_delays_ms } from '../../src/product/webhooks/deliveries.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { describeType, listFields } from '../../src/surfaces/docs/html.ts';
import { code, json, page, table } from './markdown.ts';

export function eventsPage(document: Document): string {
  const steps = retry_delays_ms.map((ms) => (ms === 0 ? 'immediately' : duration(ms)));
  return page('Events', [
    'Every event is sent as a POST request to each webhook endpoint that subscribes to its type. The body is `{ id, object: "event", created, type, job_id, access_token_reference_id, reference, data }`; `reference` is present only if the request had one. Requests are signed according to [Standard Webhooks](https://www.standardwebhooks.com) (`webhook-id`, `webhook-timestamp`, `webhook-signature`) and with `cobalt-verification`, the hex HMAC-SHA256 of the raw body keyed with the newest secret. [Webhooks](../guides/webhooks.md) shows how to verify a signature.',
    `A delivery is attempted up to ${steps.length} times: ${steps.join(', ')} after the previous attempt, with ±20 % jitter. A \`Retry-After\` header from the receiver is honored. If the EMR of a job is unreachable, the job is retried after ${duration(retry.first_ms)}, doubling to ${duration(retry.longest_ms)}, for ${duration(retry.total_ms)}.`,
    table(
      ['Type', 'Meaning', 'Sent after'],
      event_types.map((type) => summary(document, type)),
    ),
    ...event_types.map((type) => section(document, type)),
  ]);
}

function summary(document: Document, type: EventType): string[] {
  const anchor = type.replaceAll('.', '');
  const causes = endpoints
    .filter((each) => each.events?.includes(type))
    .map((each) => code(`${each.method} ${each.path}`));
  return [`[${code(type)}](#${anchor})`, document.webhooks[type]?.post.summary ?? '', causes.join(', ')];
}

function section(document: Document, type: EventType): string {
  const { summary, requestBody } = document.webhooks[type]?.post ?? {};
  const content = requestBody?.content['application/json'];
  const envelope = content?.schema.properties ?? {};
  const absent = ['job_id', 'access_token_reference_id'].filter((name) => !(name in envelope));
  const forms = envelope.data?.anyOf ?? [envelope.data ?? {}];
  const tables = forms.map((form) =>
    table(
      ['Field of `data`', 'Type', 'Present', 'Description'],
      listFields(form).map((field) => [
        code(field.name),
        describeType(field.schema),
        field.required ? 'always' : 'if applicable',
        field.schema.description ?? '',
      ]),
    ),
  );
  return [
    `## ${type}`,
    summary,
    ...(absent.length > 0 ? [`The envelope has no ${absent.map(code).join(' and no ')}.`] : []),
    tables.join('\n\nIf staff changed the record in the EMR, as a sync found (without `job_id`):\n\n'),
    json(content?.example),
  ].join('\n\n');
}

function duration(ms: number): string {
  if (ms < 60_000) return `${ms / 1000} s`;
  return ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`;
}
