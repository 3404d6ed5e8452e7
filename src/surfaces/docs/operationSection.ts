import type { Operation } from '../../http/openapi/document.ts';
import { jsonBlock, sampleTabs } from './codeBlock.ts';
import { type Field, fieldsOf, fieldTable, table, tableRow } from './fieldTable.ts';
import { breakable, type Html, html, prose } from './html.ts';
import { type Call, errorsOf, eventAddress, headersOf } from './resources.ts';
import { tryIt } from './tryIt.ts';

/** An operation of the reference: parameters and fields on the left, examples and "Try it" on the right. */
export function operationSection(call: Call): Html {
  const { operation } = call;
  const response = operation.responses['200']?.content?.['application/json'];
  const body_fields = bodyFieldsOf(operation);
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
${response && html`<details><summary>Response fields</summary>${fieldTable('Response', fieldsOf(response.schema), 'optional')}</details>`}
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

export function bodyFieldsOf(operation: Operation): Field[] {
  const [content] = Object.values(operation.requestBody?.content ?? {});
  return content ? fieldsOf(content.schema) : [];
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
  const names = headersOf(operation);
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
  const errors = errorsOf(operation);
  const rows = errors.map(({ status, code, body }) =>
    tableRow([html`${status}`, html`<code>${breakable(code)}</code>`, html`${body.message}`], 1),
  );
  return html`${table('errors', 'Errors with example messages', ['Status', 'Code', 'Message'], rows)}
${errors[0] && jsonBlock('Error body', errors[0].body)}`;
}
