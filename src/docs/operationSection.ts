import type { Operation } from '../openapi/document.ts';
import { codeBlock, jsonBlock } from './codeBlock.ts';
import { type Field, fieldsOf, fieldTable, table, tableRow } from './fieldTable.ts';
import { breakable, type Html, html, prose } from './html.ts';
import { tryIt } from './tryIt.ts';

export type Call = { method: string; path: string; operation: Operation };

/** An operation of the reference: parameters and fields on the left, examples and "Try it" on the right. */
export function operationSection(call: Call): Html {
  const { operation } = call;
  const response = operation.responses['200']?.content?.['application/json'];
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  const body_fields = body ? fieldsOf(body) : [];
  const parameters = operation.parameters.filter((each) => each.in !== 'header');
  const [sample] = operation['x-codeSamples'];
  return html`<article class="operation" id="${operation.operationId}" aria-labelledby="${operation.operationId}.title">
<h3 id="${operation.operationId}.title"><a class="anchor" href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="call">${method(call.method)} <code class="path">${breakable(call.path)}</code>
${operation['x-sandbox'] && html`<span class="tag">sandbox only</span>`}</p>
<div class="columns"><div class="definition">
${operation.description?.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
<p class="auth">${authentication(operation)}</p>
${parameters.length > 0 && fieldTable('Parameters', parameters.map(parameterField), 'required')}
${body_fields.length > 0 && fieldTable('Body', body_fields, 'required')}
${eventList(operation)}
${response && html`<details><summary>Response fields</summary>${fieldTable('Response', fieldsOf(response.schema), 'optional')}</details>`}
<details><summary>Errors</summary>${errorList(operation)}</details>
</div><div class="shown">
${sample && codeBlock('Request', sample.source, 'shell')}
${response && jsonBlock('Response', response.example)}
${response && tryIt(call)}
</div></div></article>`;
}

export function method(name: string): Html {
  return html`<span class="method ${name.toLowerCase()}">${name.toUpperCase()}</span>`;
}

function authentication(operation: Operation): Html {
  const names = Object.keys(operation.security[0] ?? {});
  if (names.length === 0) return html`No authentication.`;
  const repeatable = operation.parameters.some((each) => each.name === 'Idempotency-Key');
  return html`Headers: ${names.map((name, index) => html`${index > 0 && ', '}<code>${name}</code>`)}${
    repeatable && html`; optional <a href="#retries"><code>Idempotency-Key</code></a>`
  }`;
}

function parameterField({ name, in: place, required, schema, description }: Operation['parameters'][number]): Field {
  const where = place === 'query' ? '' : `In the ${place}. `;
  return { name, required, schema, description: `${where}${description ?? schema.description ?? ''}`.trim() };
}

function eventList(operation: Operation): Html | false {
  const types = operation['x-events'] ?? [];
  if (types.length === 0) return false;
  return html`<p class="events">The outcome is sent as one of these events: ${types.map(
    (type, index) => html`${index > 0 && ', '}<a href="#event.${type}"><code>${type}</code></a>`,
  )}.</p>`;
}

function errorList(operation: Operation): Html {
  const errors = Object.entries(operation.responses).filter(([status]) => status !== '200');
  const rows = errors.flatMap(([status, response]) =>
    Object.entries(response.content?.['application/json']?.examples ?? {}).map(([code, { value }]) =>
      tableRow(
        [html`${status}`, html`<code>${breakable(code)}</code>`, html`${(value as { message: string }).message}`],
        1,
      ),
    ),
  );
  const first = Object.values(errors[0]?.[1].content?.['application/json']?.examples ?? {})[0]?.value;
  return html`${table('errors', 'Errors with example messages', ['Status', 'Code', 'Message'], rows)}
${first !== undefined && jsonBlock('Error body', first)}`;
}
