import { endpoints } from '../../src/api/endpoints.ts';
import { fieldsOf, typeOf } from '../../src/docs/fieldTable.ts';
import { type EventType, event_types } from '../../src/events.ts';
import type { Document } from '../../src/openapi/document.ts';
import { retry_delays_ms } from '../../src/webhooks/retrySchedule.ts';
import { retry } from '../../src/worker/backoff.ts';
import { code, json, page, table } from './markdown.ts';

export function eventsPage(document: Document): string {
  const steps = retry_delays_ms.map((ms) => (ms === 0 ? 'at once' : duration(ms)));
  return page('Events', [
    'Every event is a POST to the registered addresses that want its type, with the body `{ id, object: "event", created, type, job_id, access_token_reference_id, data }`. It is signed as Standard Webhooks prescribe (`webhook-id`, `webhook-timestamp`, `webhook-signature`) and with `cobalt-verification`, the hex HMAC-SHA256 of the raw body keyed with the newest secret. The reference page at `/docs` shows how to verify one.',
    `A delivery that fails is tried ${steps.join(', ')} after the try before it, each moved by up to 20 % either way; a receiver's \`Retry-After\` is honored. Jobs whose EMR cannot be reached are tried again after ${duration(retry.first_ms)}, doubling to ${duration(retry.longest_ms)}, for ${duration(retry.total_ms)}.`,
    table(
      ['Type', 'What has happened', 'After'],
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
  const rows = fieldsOf(envelope.data ?? {}).map((field) => [
    code(field.name),
    typeOf(field.schema),
    field.required ? 'always' : 'only when it applies',
    field.schema.description ?? '',
  ]);
  return [
    `## ${type}`,
    summary,
    ...(absent.length > 0 ? [`Carries no ${absent.map(code).join(' and no ')}.`] : []),
    table(['Field of data', 'Type', 'Present', 'Meaning'], rows),
    json(content?.example),
  ].join('\n\n');
}

function duration(ms: number): string {
  if (ms < 60_000) return `${ms / 1000} s`;
  return ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`;
}
