import { failures, send_again_texts } from '../failures.ts';
import type { Document } from '../openapi/document.ts';
import { codeBlock, jsonBlock } from './codeBlock.ts';
import { fieldsOf, fieldTable, table, tableRow } from './fieldTable.ts';
import { breakable, type Html, html, prose } from './html.ts';
import { verification } from './verification.ts';

/** Guides around the endpoint sections, in the order of the table of contents. */
export const guides = [
  { id: 'start', title: 'Getting started' },
  { id: 'errors', title: 'Errors' },
  { id: 'failures', title: 'Failure codes' },
  { id: 'retries', title: 'Idempotency' },
  { id: 'webhooks', title: 'Webhooks' },
  { id: 'events', title: 'Events' },
] as const;

export function startGuide(document: Document): Html {
  const base_url = document.servers[0]?.url ?? '';
  const first = document.paths['/v1/telephone-encounters']?.post;
  const outcome = document.paths['/v1/webhook-events']?.get;
  const headers = Object.entries(document.components.securitySchemes);
  return html`<section id="start" class="guide"><h2>Getting started</h2>
<p>The base URL is <code>${base_url}</code>. Request bodies are JSON, except for document uploads, which are multipart forms.
Requests are authenticated with three headers; Link and webhook endpoints need only the first two.</p>
${table(
  'fields',
  'Authentication headers',
  ['Header', 'Description'],
  headers.map(([name, { description }]) => tableRow([html`<code>${name}</code>`, html`${description}`], 0)),
)}
<p>If a proxy drops header names with underscores, use <code>client-id</code>, <code>client-secret</code> and
<code>access-token</code> instead.</p>
<form id="credentials" class="credentials" hidden autocomplete="off"><h3>Your credentials</h3>
<p id="credentials.state" role="status">Used by the “Try it” forms below. They are kept in memory only, until you leave this page.</p>
${headers.map(
  ([name]) => html`<label for="credentials.${name}"><code>${name}</code></label><input id="credentials.${name}"
 name="${name}" type="${name === 'client_id' ? 'text' : 'password'}" autocomplete="off" spellcheck="false">`,
)}
<label class="check"><input type="checkbox" id="credentials.show"> Show secrets</label></form>
<h3>Your first write</h3>
<p>Writes are accepted immediately and performed asynchronously. This request records a telephone call in a chart:</p>
${first?.['x-codeSamples'][0] && codeBlock('Request', first['x-codeSamples'][0].source, 'shell')}
${jsonBlock('Response', first?.responses['200']?.content?.['application/json']?.example)}
<p>The outcome is an event with the same <code>job_id</code>. It is sent to your webhook endpoints, and you can also
request it. The list is empty until the job has finished; you can poll once per second.</p>
${outcome?.['x-codeSamples'][0] && codeBlock('Request', outcome['x-codeSamples'][0].source, 'shell')}
<p>To send it from this page, open “Try it” at <a href="#telephone-encounters.create">Create a telephone encounter</a>.</p></section>`;
}

export function errorGuide(document: Document): Html {
  const example = document.paths['/v1/telephone-encounters']?.post?.responses['404']?.content?.['application/json'];
  const expired = document.paths['/v1/telephone-encounters']?.post?.responses['403']?.content?.['application/json'];
  const bodyOf = (content: typeof example) => Object.values(content?.examples ?? {})[0]?.value;
  return html`<section id="errors" class="guide"><h2>Errors</h2>
<p>Errors use HTTP status codes and have one format. <code>message</code> is meant for people and may change;
<code>code</code> is stable. <code>field</code> names the invalid field, if there is one. Include <code>request_id</code>
(also sent as <code>x-request-id</code>) when you ask for help.</p>
${jsonBlock('Error', bodyOf(example))}
<p>If an account needs to be re-linked, requests return 403 with exactly this body. Run Link in update mode; waiting jobs
then resume.</p>${jsonBlock('login_required', bodyOf(expired))}
<p>Requests over the rate limit return 429 with <code>retry-after</code>. The headers <code>ratelimit-limit</code>,
<code>ratelimit-remaining</code> and <code>ratelimit-reset</code> are sent with every response.</p></section>
${failureGuide()}
<section id="retries" class="guide"><h2>Idempotency</h2>
<p>Send an <code>Idempotency-Key</code> with a POST or PATCH request to retry it safely, for example after a timeout. Within
24 hours, a request with the same key returns the first response (with <code>idempotency-replayed: true</code>) and has no
further effect. The same key with a different body returns 422.</p></section>`;
}

function failureGuide(): Html {
  const rows = Object.entries(failures).map(([code, { cause, remedy, send_again }]) =>
    tableRow([html`<code>${breakable(code)}</code>`, prose(cause), prose(`${remedy} ${sendAgain(send_again)}`)], 0),
  );
  return html`<section id="failures" class="guide"><h2>Failure codes</h2>
<p>A failure code says why a write that was accepted, or a sync, failed later. It is in <code>error.code</code> of
<a href="#jobs.get"><code>GET /v1/jobs/{job_id}</code></a> and in <code>reasons[].code</code> of failure events. Codes are
stable; new ones may be added, so treat an unknown code like <code>emr_refused</code>.</p>
${table('fields', 'Failure codes', ['Code', 'Cause', 'Remedy'], rows)}</section>`;
}

function sendAgain(when: keyof typeof send_again_texts): string {
  return `Send again: ${send_again_texts[when]}.`;
}

export function eventGuide(document: Document): Html {
  return html`<section id="webhooks" class="guide"><h2>Webhooks</h2>
<p>Create an endpoint with <a href="#webhook.create"><code>POST /v1/webhook</code></a>. Each event is sent to it as a POST
request, signed according to <i>Standard Webhooks</i>. Verify the signature with any library for that standard, or with the
code below. Respond with a 2xx status within 15 seconds. Failed deliveries are retried, ten attempts in total over three
days. The <code>webhook-id</code> stays the same, so that you can detect duplicates.</p>
${codeBlock('Verify an event (Node.js)', verification, 'javascript')}
<p>The header <code>cobalt-verification</code> contains the hex HMAC-SHA256 of the raw body. Its key is the newest secret as
is, including <code>whsec_</code>.</p></section>
<section id="events" class="guide"><h2>Events</h2>
<p>All event types with their bodies. <a href="#webhook-events.list"><code>GET /v1/webhook-events</code></a> lists the events
of the last 30 days.</p>${Object.entries(document.webhooks).map(([type, { post }]) => {
    const { schema, example } = post.requestBody.content['application/json'];
    const data = schema.properties?.data;
    return html`<details class="event" id="event.${type}"><summary><code>${type}</code></summary><p>${post.summary}</p>
${data && fieldTable('Fields of data', fieldsOf(data), 'optional')}${jsonBlock('Body', example)}</details>`;
  })}</section>`;
}
