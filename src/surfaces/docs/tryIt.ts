import type { Document, Operation, Parameter, Schema } from '../../http/openapi/document.ts';
import type { Group } from '../../model/groups.ts';
import { type Html, html } from './html.ts';
import { type DocPage, pages } from './navigation.ts';

/** The form that sends a request from the page. It is hidden until the page's script has loaded. */
export function tryIt(call: Call): Html {
  const { method, path, operation } = call;
  const [media_type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const form = media_type === 'multipart/form-data';
  return html`<details class="try" hidden><summary>Try it</summary>
<form autocomplete="off" data-method="${method.toUpperCase()}" data-path="${path}" data-examples="${JSON.stringify(listExamples(operation, content?.example))}"
 data-headers="${listHeaders(operation).join(' ')}"
 data-found="${JSON.stringify(operation['x-found-in'] ?? {})}" data-events="${(operation['x-events'] ?? []).join(' ')}"
 data-confirm="${confirmation(call)}">
${inputs(call, 'path', 'Path parameters')}${inputs(call, 'query', 'Query parameters')}${inputs(call, 'header', 'Headers')}
${content && (form ? formFields(operation, content.schema, content.example) : jsonField(operation, content.example))}
<button type="submit" class="send">Send request</button>
</form><p class="status" role="status" tabindex="-1"></p><div class="result"></div></details>`;
}

/** What the samples have in place of the values that differ by installation. */
function listExamples(operation: Operation, body: unknown): Record<string, unknown> {
  const in_body = (body ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(operation['x-found-in'] ?? {}).map((name) => [
      name,
      operation.parameters.find((each) => each.name === name)?.example ?? in_body[name],
    ]),
  );
}

/** Destructive requests need a confirmation. */
function confirmation({ method, path, operation }: Call): string {
  return operation['x-confirm'] ?? (method === 'delete' ? `This sends DELETE ${path}. Send the request?` : '');
}

function inputs({ operation }: Call, place: Parameter['in'], legend: string): Html | false {
  const parameters = operation.parameters.filter((each) => each.in === place);
  if (parameters.length === 0) return false;
  // Optional parameters without an example are collapsed.
  const [first, more] = [parameters.filter(isShown), parameters.filter((each) => !isShown(each))];
  const field = (each: Parameter) => {
    const is_looked_up = operation['x-found-in']?.[each.name] !== undefined;
    const value = is_looked_up || each.in === 'header' ? '' : String(each.example ?? '');
    return input({ ...each, id: `${operation.operationId}.${each.name}`, value });
  };
  return html`<fieldset><legend>${legend}</legend>${first.map(field)}
${more.length > 0 && html`<details class="more"><summary>${more.length} more</summary>${more.map(field)}</details>`}</fieldset>`;
}

function isShown(parameter: Parameter): boolean {
  return parameter.required || parameter.example !== undefined;
}

/** `in`: where the request contains the value. */
type Input = {
  id: string;
  name: string;
  required: boolean;
  schema: Schema;
  value: string;
  in: Parameter['in'] | 'form';
};

function input({ id, name, required, schema, value, in: place }: Input): Html {
  const label = html`<label for="try.${id}"><code>${name}</code>${required && html` <span class="required">required</span>`}</label>`;
  const choices = schema.enum ?? (schema.type === 'boolean' ? ['true', 'false'] : undefined);
  if (!choices) {
    return html`${label}<input id="try.${id}" name="${name}" data-in="${place}" value="${value}" spellcheck="false">`;
  }
  const option = (each: string) => html`<option${each === value && html` selected`}>${each}</option>`;
  return html`${label}<select id="try.${id}" name="${name}" data-in="${place}">
${!required && html`<option value=""></option>`}${choices.map((each) => option(String(each)))}</select>`;
}

function jsonField(operation: Operation, example: unknown): Html {
  const text = JSON.stringify(example ?? {}, null, 2);
  const id = `try.${operation.operationId}.body`;
  return html`<fieldset><legend>Body</legend><label for="${id}">JSON</label>
<textarea id="${id}" data-in="body" rows="${Math.min(text.split('\n').length + 1, 16)}" spellcheck="false">${text}</textarea></fieldset>`;
}

function formFields(operation: Operation, schema: Schema, example: unknown): Html {
  const values = (example ?? {}) as Record<string, unknown>;
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const id = `${operation.operationId}.${name}`;
    const required = schema.required?.includes(name) ?? false;
    if (!field.contentMediaType)
      return input({ id, name, required, schema: field, value: String(values[name] ?? ''), in: 'form' });
    return html`<label for="try.${id}"><code>${name}</code> <span class="required">required</span></label>
<input id="try.${id}" name="${name}" data-in="file" type="file" accept=".pdf,.jpg,.jpeg,.png">`;
  });
  return html`<fieldset><legend>Form</legend>${fields}</fieldset>`;
}

export type Call = { method: string; path: string; operation: Operation };
export type Resource = { name: string; description: string; calls: Call[] };

/** The groups of a page with their operations, as far as this installation has them. */
export function listResources(document: Document, groups: readonly Group[]): Resource[] {
  const calls: Call[] = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  return document.tags
    .filter(({ name }) => groups.some((group) => group === name))
    .map(({ name, description }) => ({
      name,
      description,
      calls: calls.filter(({ operation }) => operation.tags.includes(name)),
    }));
}

/** The pages of the reference that list operations. */
export function resourcePages(): { page: DocPage; groups: readonly Group[] }[] {
  return pages.flatMap((page) =>
    page.content !== 'overview' && 'groups' in page.content ? [{ page, groups: page.content.groups }] : [],
  );
}

/** The names of the headers that an operation needs. */
export function listHeaders({ security }: Operation): string[] {
  return Object.keys(security[0] ?? {});
}

/** The heading of an event on the page of event types. */
export function eventAddress(type: string): string {
  return `/docs/reference/events#${type.replaceAll('.', '')}`;
}

/** The errors of an operation with an example body. */
export function listErrors({ responses }: Operation): { status: string; code: string; body: { message: string } }[] {
  return Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .flatMap(([status, { content }]) =>
      Object.entries(content?.['application/json']?.examples ?? {}).map(([code, { value }]) => ({
        status,
        code,
        body: value as { message: string },
      })),
    );
}
