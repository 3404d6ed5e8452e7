import { failures, send_again_texts } from '../../src/catalog/failures.ts';
import type { Document } from '../../src/http/openapi/document.ts';
import { event_types } from '../../src/model/events.ts';
import { listFields } from '../../src/surfaces/docs/html.ts';
import { code, json, page, table } from './markdown.ts';

export function failuresPage(document: Document): string {
  const rows = Object.entries(failures).map(([name, { cause, remedy, send_again }]) => {
    return [code(name), cause, remedy, send_again_texts[send_again]];
  });
  const with_reasons = event_types.filter((type) => listFields(findData(document, type)).some(isReasons));
  const { example } = document.webhooks['patient.update_failed']?.post.requestBody.content['application/json'] ?? {};
  return page('Failure codes', [
    'Requests that the service rejects have an [error code](errors.md) and an HTTP status. A failure code says why a write that was accepted, or a sync, failed later. Codes never change. New ones may be added: treat an unknown code like `emr_refused`.',
    `The code is in \`error.code\` of \`GET /v1/jobs/{job_id}\` and in \`reasons[].code\` of these events: ${with_reasons.map(code).join(', ')}. Other failure events have only the fields of the specification; if they have a \`job_id\`, the job has the code. The text next to a code (\`message\`, \`description\`, \`failure_reason\`) is human-readable and may change.`,
    json(example),
    table(['Code', 'Cause', 'Remedy', 'Send the write again?'], rows),
  ]);
}

function findData(document: Document, type: string) {
  return document.webhooks[type]?.post.requestBody.content['application/json'].schema.properties?.data ?? {};
}

function isReasons({ name }: { name: string }): boolean {
  return name === 'reasons';
}
