import type { Document } from '../openapi/document.ts';
import { codeBlock, jsonBlock } from './codeBlock.ts';
import { fieldsOf, fieldTable, table, tableRow } from './fieldTable.ts';
import { type Html, html } from './html.ts';
import { verification } from './verification.ts';

/** What stands beside the endpoints, in the order of the contents: the way in, errors, events. */
export const guides = [
  { id: 'start', title: 'Getting started' },
  { id: 'errors', title: 'Errors' },
  { id: 'retries', title: 'Sending a request twice' },
  { id: 'webhooks', title: 'Webhooks' },
  { id: 'events', title: 'Events' },
] as const;

export function startGuide(document: Document): Html {
  const base_url = document.servers[0]?.url ?? '';
  const first = document.paths['/v1/telephone-encounters']?.post;
  const outcome = document.paths['/v1/webhook-events']?.get;
  const headers = Object.entries(document.components.securitySchemes);
  return html`<section id="start" class="guide"><h2>Getting started</h2>
<p>Requests go to <code>${base_url}</code>, with JSON bodies (a form for document uploads). Every <code>/v1</code> request
carries three headers; the endpoints of Link and of webhook registration need the first two only.</p>
${table(
  'fields',
  'Authentication headers',
  ['Header', 'What it is'],
  headers.map(([name, { description }]) => tableRow([html`<code>${name}</code>`, html`${description}`], 0)),
)}
<p>A proxy that drops header names with underscores is no obstacle: <code>client-id</code>, <code>client-secret</code> and
<code>access-token</code> are taken as well.</p>
<form id="credentials" class="credentials" hidden autocomplete="off"><h3>Your credentials</h3>
<p id="credentials.state" role="status">Used by the try-it forms below. They stay in this page’s memory and are gone when you leave it.</p>
${headers.map(
  ([name]) => html`<label for="credentials.${name}"><code>${name}</code></label><input id="credentials.${name}"
 name="${name}" type="${name === 'client_id' ? 'text' : 'password'}" autocomplete="off" spellcheck="false">`,
)}
<label class="check"><input type="checkbox" id="credentials.show"> Show secrets</label></form>
<h3>The first write</h3>
<p>Writes to an EMR are accepted at once and carried out afterwards. This one records a telephone call in a chart:</p>
${first?.['x-codeSamples'][0] && codeBlock('Request', first['x-codeSamples'][0].source, 'shell')}
${jsonBlock('Answer', first?.responses['200']?.content?.['application/json']?.example)}
<p>The outcome arrives as an event with the same <code>job_id</code>, at your webhook address or on request. The list is
empty until there is one; asking once a second is fine.</p>
${outcome?.['x-codeSamples'][0] && codeBlock('Request', outcome['x-codeSamples'][0].source, 'shell')}
<p>Send it from here: <a href="#telephone-encounters.create">open the endpoint</a> and its “Try it”.</p></section>`;
}

export function errorGuide(document: Document): Html {
  const example = document.paths['/v1/telephone-encounters']?.post?.responses['404']?.content?.['application/json'];
  const expired = document.paths['/v1/telephone-encounters']?.post?.responses['403']?.content?.['application/json'];
  const bodyOf = (content: typeof example) => Object.values(content?.examples ?? {})[0]?.value;
  return html`<section id="errors" class="guide"><h2>Errors</h2>
<p>An error answers with its HTTP status and one shape of body. <code>message</code> is for people, <code>code</code> for
programs and never changes, <code>field</code> names the field at fault where there is one, and <code>request_id</code> (also
in the header <code>x-request-id</code>) is what to quote when you ask for help.</p>
${jsonBlock('An error', bodyOf(example))}
<p>When the link to an EMR account has expired, requests answer 403 with exactly this body. Run Link in update mode; work
that is waiting then goes on.</p>${jsonBlock('login_required', bodyOf(expired))}
<p>Too many requests answer 429 with <code>retry-after</code>; the headers <code>ratelimit-limit</code>,
<code>ratelimit-remaining</code> and <code>ratelimit-reset</code> stand on every answer.</p></section>
<section id="retries" class="guide"><h2>Sending a request twice</h2>
<p>Give a POST or PATCH an <code>Idempotency-Key</code> of your own, and it can be sent again after a lost answer: within 24
hours the first answer is given again (with <code>idempotency-replayed: true</code>) and nothing is done twice. The same key
with another body answers 422.</p></section>`;
}

export function eventGuide(document: Document): Html {
  return html`<section id="webhooks" class="guide"><h2>Webhooks</h2>
<p>Register an address with <a href="#webhook.create"><code>POST /v1/webhook</code></a>. Each event is sent to it as a POST,
signed as <i>Standard Webhooks</i> prescribes; any library for that verifies it, and so do these lines. Answer with a 2xx
status within 15 seconds. What fails is sent again, ten times over three days; the <code>webhook-id</code> stays the same, so
that you can tell a repetition.</p>
${codeBlock('Verify an event (Node.js)', verification, 'javascript')}
<p>The header <code>cobalt-verification</code> is there too: the hex HMAC-SHA256 of the raw body, keyed with the newest secret
as it is written, <code>whsec_</code> included.</p></section>
<section id="events" class="guide"><h2>Events</h2>
<p>Every event, with the body that is sent. <a href="#webhook-events.list"><code>GET /v1/webhook-events</code></a> lists those of
the last 30 days.</p>${Object.entries(document.webhooks).map(([type, { post }]) => {
    const { schema, example } = post.requestBody.content['application/json'];
    const data = schema.properties?.data;
    return html`<details class="event" id="event.${type}"><summary><code>${type}</code></summary><p>${post.summary}</p>
${data && fieldTable('Fields of data', fieldsOf(data), 'optional')}${jsonBlock('Body', example)}</details>`;
  })}</section>`;
}
