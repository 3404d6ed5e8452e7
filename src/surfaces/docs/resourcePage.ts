import type { Document } from '../../http/openapi/document.ts';
import { type Field, fieldsOf, typeOf } from './fieldTable.ts';
import { type Html, html } from './html.ts';
import type { Heading } from './markdown.ts';
import type { DocPage } from './navigation.ts';
import { bodyFieldsOf, operationSection, parameterFields } from './operationSection.ts';
import { type Call, errorsOf, eventAddress, headersOf, type Resource } from './resources.ts';

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
  const response = operation.responses['200']?.content?.['application/json'];
  const events = (operation['x-events'] ?? []).map((type) => `[\`${type}\`](${eventAddress(type)})`);
  const headers = headersOf(operation).map((name) => `\`${name}\``);
  const parts = [
    `## ${operation.summary}`,
    `\`${method.toUpperCase()} ${path}\` (operation \`${operation.operationId}\`${operation['x-sandbox'] ? ', sandbox only' : ''})`,
    operation.description,
    headers.length > 0 && `Headers: ${headers.join(', ')}.`,
    fieldList('Parameters', parameterFields(operation), 'required'),
    fieldList('Body', bodyFieldsOf(operation), 'required'),
    events.length > 0 && `The outcome is sent as one of these events: ${events.join(', ')}.`,
    ...operation['x-codeSamples'].map(({ lang, source }) => fenced(lang.toLowerCase(), source)),
    response && `Response:\n\n${fenced('json', JSON.stringify(response.example, null, 2))}`,
    response && fieldList('Response fields', fieldsOf(response.schema), 'optional'),
    `Errors: ${errorsOf(operation)
      .map(({ status, code }) => `${status} \`${code}\``)
      .join(', ')}.`,
  ];
  return parts.filter(Boolean).join('\n\n');
}

function fieldList(title: string, fields: readonly Field[], mark: 'required' | 'optional'): string | false {
  if (fields.length === 0) return false;
  const lines = fields.map(({ name, required, schema, description }) => {
    const marked = required === (mark === 'required') ? `, ${mark}` : '';
    return `- \`${name}\` (${typeOf(schema)}${marked}): ${(description ?? schema.description ?? '').replaceAll('\n', ' ')}`;
  });
  return `${title}:\n\n${lines.join('\n')}`;
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}
