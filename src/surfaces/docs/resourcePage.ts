import type { Document, Operation } from '../../http/openapi/document.ts';
import { findSuccess } from '../../http/openapi/methods.ts';
import { text_max } from '../../model/fields.ts';
import {
  breakable,
  describeType,
  type Field,
  fieldTable,
  type Html,
  html,
  jsonBlock,
  listFields,
  prose,
  sampleTabs,
  table,
  tableRow,
} from './html.ts';
import { document, mark } from './layout.ts';
import type { Heading } from './markdown.ts';
import type { DocPage } from './navigation.ts';
import {
  type Call,
  eventAddress,
  listErrors,
  listHeaders,
  listResources,
  type Resource,
  resourcePages,
  tryIt,
} from './tryIt.ts';

const links = [
  ['/docs', 'Documentation', 'Quickstart, concepts and guides'],
  ['/docs/reference', 'API reference', 'Every operation, with code samples and a form to try it'],
  ['/dashboard', 'Dashboard', 'Jobs, events, accounts and settings, for operators'],
  ['/openapi.json', 'OpenAPI', 'Machine-readable description of the API'],
  ['/readyz', 'Health', 'Whether this process and its database are ready'],
] as const;

/** The page at `/`. It is the same for everyone, and reveals nothing about the installation. */
export function homePage(): string {
  return document({
    title: 'Chartwire',
    description: 'One HTTP API for the electronic medical records of medical practices.',
    sandbox: false,
    body: html`<main id="main" class="home"><h1>${mark}Chartwire</h1>
<p class="lead">One HTTP API for the electronic medical records of medical practices.</p>
<ul>${links.map(
      ([href, title, text]) => html`<li><a href="${href}">${title}</a> <span>${text}</span></li>`,
    )}</ul></main>`,
  });
}

/** The first page of the API reference, as Markdown: what all operations have in common, and a list of them. */
export function overviewMarkdown(document: Document): string {
  const headers = Object.entries(document.components.securitySchemes);
  return `# API reference

The base URL is \`${document.servers[0]?.url ?? ''}\`. Requests and responses are JSON, except for document uploads, which are multipart forms. [openapi.json](/openapi.json) describes the API as OpenAPI 3.1, for code generators and API clients. The [client libraries](/docs/client-libraries) are generated from it.

## Authentication

Every request carries your application’s credentials, and most also carry the access token of a linked EMR account. Each operation lists the headers it needs.

| Header | Description |
|---|---|
${headers.map(([name, { description }]) => `| \`${name}\` | ${description} |`).join('\n')}

Some proxies drop header names with underscores. \`client-id\`, \`client-secret\` and \`access-token\` are accepted too.

## Requests

Bodies are checked strictly: an unknown field or query parameter is an error, and no value is converted (\`"5"\` is not 5). Text is trimmed, and a blank value counts as missing. On PATCH, \`null\` clears an optional field. A JSON body can be up to 1 MB, and a text without a stated limit up to ${text_max.toLocaleString('en-US')} characters.

Writes are accepted immediately and performed by a job. The response has its \`job_id\`, and the outcome is sent as an [event](/docs/reference/events). See [Concepts](/docs/concepts).

Send an \`Idempotency-Key\` with a POST or PATCH request, so that you can [retry it safely](/docs/errors-and-retries#idempotency).

## Responses

Every response has \`success\` and the header \`x-request-id\`. Fields of a record are always present: \`null\` or an empty array means that the value is unknown. IDs are strings of 32 hexadecimal characters; a \`job_id\` is a number in responses and a string in events. Errors have a stable [code](/docs/reference/errors).

## Lists

Lists are paginated with \`page\` (from 1) and \`page_size\`. \`pagination\` in the response has \`page\`, \`current_page\` (the same number), \`page_size\`, \`total_count\` and \`total_pages\`. A record that is added or removed meanwhile can move others to another page. To read a whole list, walk it by cursor: send an empty \`cursor=\`, then \`pagination.next_cursor\` of each page with the same filters, until it is \`null\`. A walk is in the order of IDs, has no totals, and shows every record that existed the whole time. Lists of EMR records show the state of the last sync. Until the first sync of a list has finished, its response has \`"sync": { "state": "pending" }\`.

## Limits

Requests over a client’s rate limit get 429 with \`retry-after\`. Responses to authenticated requests have the headers \`ratelimit-limit\`, \`ratelimit-remaining\` and \`ratelimit-reset\`. The limit is a [setting](/docs/reference/settings).

## Versions

\`/v1\` only grows: fields, events, codes and optional parameters are added, none are removed. Ignore fields that you do not know, and accept new enum values. See [Changes](/docs/reference/changes).

## Operations

${resourcePages()
  .map(({ page, groups }) => {
    const calls = listResources(document, groups).flatMap((resource) => resource.calls);
    const rows = calls.map(
      ({ method, path, operation }) =>
        `| \`${method.toUpperCase()}\` | \`${path}\` | [${operation.summary}](${page.path}#${operation.operationId}) |`,
    );
    return `### ${page.title}\n\n| Method | Path | Operation |\n|---|---|---|\n${rows.join('\n')}`;
  })
  .join('\n\n')}
`;
}

/** The operations of a page of the reference, with forms to try them. */
export function resourceHtml(document: Document, page: DocPage, resources: readonly Resource[]): Html {
  return html`<h1>${page.title}</h1>
${resources.map(({ description }) => html`<p class="lead">${description}</p>`)}
${credentialsForm(document)}
${resources.flatMap(({ calls }) => calls.map(operationSection))}
<dialog id="confirm" aria-labelledby="confirm.text"><p id="confirm.text"></p>
<p class="choices"><button type="button" value="">Cancel</button> <button type="button" value="send" class="send">Send</button></p></dialog>`;
}

export function resourceHeadings(resources: readonly Resource[]): Heading[] {
  return resources.flatMap(({ calls }) =>
    calls.map(({ operation }) => ({ id: operation.operationId, title: operation.summary, depth: 2 })),
  );
}

/** The same page as Markdown. */
export function resourceMarkdown(page: DocPage, resources: readonly Resource[]): string {
  const parts = resources.flatMap(({ description, calls }) => [description, ...calls.map(operationMarkdown)]);
  return `${[`# ${page.title}`, ...parts].join('\n\n')}\n`;
}

/** Hidden until the page's script has loaded, which fills it in from the sandbox. */
function credentialsForm({ components }: Document): Html {
  return html`<details class="credentials" hidden><summary>Credentials for “Try it”</summary>
<form id="credentials" autocomplete="off">
<p id="credentials.state" role="status">Kept in memory only, until you leave this page.</p>
${Object.keys(components.securitySchemes).map(
  (name) => html`<label for="credentials.${name}"><code>${name}</code></label><input id="credentials.${name}"
 name="${name}" type="${name === 'client_id' ? 'text' : 'password'}" autocomplete="off" spellcheck="false">`,
)}
<label class="check"><input type="checkbox" id="credentials.show"> Show secrets</label></form></details>`;
}

function operationMarkdown({ method, path, operation }: Call): string {
  const response = findSuccess(operation);
  const events = (operation['x-events'] ?? []).map((type) => `[\`${type}\`](${eventAddress(type)})`);
  const headers = listHeaders(operation).map((name) => `\`${name}\``);
  const parts = [
    `## ${operation.summary}`,
    `\`${method.toUpperCase()} ${path}\` (operation \`${operation.operationId}\`${operation['x-sandbox'] ? ', sandbox only' : ''})`,
    operation.description,
    headers.length > 0 && `Headers: ${headers.join(', ')}.`,
    fieldList('Parameters', parameterFields(operation), 'required'),
    fieldList('Body', listBodyFields(operation), 'required'),
    events.length > 0 && `The outcome is sent as one of these events: ${events.join(', ')}.`,
    ...operation['x-codeSamples'].map(({ lang, source }) => fenced(lang.toLowerCase(), source)),
    response && `Response:\n\n${fenced('json', JSON.stringify(response.example, null, 2))}`,
    response && fieldList('Response fields', listFields(response.schema), 'optional'),
    `Errors: ${listErrors(operation)
      .map(({ status, code }) => `${status} \`${code}\``)
      .join(', ')}.`,
  ];
  return parts.filter(Boolean).join('\n\n');
}

function fieldList(title: string, fields: readonly Field[], mark: 'required' | 'optional'): string | false {
  if (fields.length === 0) return false;
  const lines = fields.map(({ name, required, schema, description }) => {
    const marked = required === (mark === 'required') ? `, ${mark}` : '';
    return `- \`${name}\` (${describeType(schema)}${marked}): ${(description ?? schema.description ?? '').replaceAll('\n', ' ')}`;
  });
  return `${title}:\n\n${lines.join('\n')}`;
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/** An operation of the reference: parameters and fields on the left, examples and "Try it" on the right. */
export function operationSection(call: Call): Html {
  const { operation } = call;
  const response = findSuccess(operation);
  const body_fields = listBodyFields(operation);
  const parameters = parameterFields(operation);
  return html`<article class="operation" id="${operation.operationId}" aria-labelledby="${operation.operationId}.title">
<h2 id="${operation.operationId}.title"><a class="anchor" href="#${operation.operationId}">${operation.summary}</a></h2>
<p class="call">${method(call.method)} <code class="path">${breakable(call.path)}</code>
${operation['x-sandbox'] && html`<span class="tag">sandbox only</span>`}</p>
<div class="columns"><div class="definition">
${operation.description?.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
<p class="auth">${authentication(operation)}</p>
${parameters.length > 0 && fieldTable('Parameters', parameters, 'required')}
${body_fields.length > 0 && fieldTable('Body', body_fields, 'required')}
${eventList(operation)}
${response && html`<details><summary>Response fields</summary>${fieldTable('Response', listFields(response.schema), 'optional')}</details>`}
<details><summary>Errors</summary>${errorList(operation)}</details>
</div><div class="shown">
${sampleTabs(`${operation.operationId}.sample`, operation['x-codeSamples'])}
${response && jsonBlock('Response', response.example)}
${response && tryIt(call)}
</div></div></article>`;
}

export function method(name: string): Html {
  return html`<span class="method ${name.toLowerCase()}">${name.toUpperCase()}</span>`;
}

export function listBodyFields(operation: Operation): Field[] {
  const [content] = Object.values(operation.requestBody?.content ?? {});
  return content ? listFields(content.schema) : [];
}

/** The parameters in path and query. Headers are described once, in the overview. */
export function parameterFields(operation: Operation): Field[] {
  return operation.parameters
    .filter((each) => each.in !== 'header')
    .map(({ name, in: place, required, schema, description }) => {
      const where = place === 'query' ? '' : `In the ${place}. `;
      return { name, required, schema, description: `${where}${description ?? schema.description ?? ''}`.trim() };
    });
}

function authentication(operation: Operation): Html {
  const names = listHeaders(operation);
  if (names.length === 0) return html`No authentication.`;
  const repeatable = operation.parameters.some((each) => each.name === 'Idempotency-Key');
  return html`Headers: ${names.map((name, index) => html`${index > 0 && ', '}<code>${name}</code>`)}${
    repeatable && html`; optional <a href="/docs/errors-and-retries#idempotency"><code>Idempotency-Key</code></a>`
  }`;
}

function eventList(operation: Operation): Html | false {
  const types = operation['x-events'] ?? [];
  if (types.length === 0) return false;
  return html`<p class="events">The outcome is sent as one of these events: ${types.map(
    (type, index) => html`${index > 0 && ', '}<a href="${eventAddress(type)}"><code>${type}</code></a>`,
  )}.</p>`;
}

function errorList(operation: Operation): Html {
  const errors = listErrors(operation);
  const rows = errors.map(({ status, code, body }) =>
    tableRow([html`${status}`, html`<code>${breakable(code)}</code>`, html`${body.message}`], 1),
  );
  return html`${table('errors', 'Errors with example messages', ['Status', 'Code', 'Message'], rows)}
${errors[0] && jsonBlock('Error body', errors[0].body)}`;
}
