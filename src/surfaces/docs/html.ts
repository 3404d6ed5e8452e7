import type { CodeSample, Schema } from '../../http/openapi/document.ts';
import { listAlternatives } from '../../http/openapi/methods.ts';
import { text_max } from '../../model/fields.ts';

/** HTML that is inserted without escaping. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | false | undefined | readonly Part[];

/** A template tag for HTML. Values are escaped unless they are `Html` themselves. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((string, index) => string + (index < parts.length ? toText(parts[index]) : '')).join(''));
}

/** Renders text between backticks as code. */
export function prose(sentence: string): Html {
  return html`${sentence.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** Allows line breaks between the parts of a name or path. */
export function breakable(name: string): Html {
  return html`${name.split(/(?<=[_.])|(?=\/)/).map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}`;
}

function toText(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(toText).join('');
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return String(part).replace(/[&<>"']/g, (character) => names[character] ?? '');
}

/**
 * A code block with a copy button. It is focusable, so that it can be scrolled with the keyboard. A `run` block is a curl
 * command that the page can send in the sandbox.
 */
export function codeBlock(title: string, text: string, language = 'json', { run = false } = {}): Html {
  return html`<figure class="code"${run && html` data-run`}><figcaption><span>${title}</span>${copyButton(title)}</figcaption>
${code(title, text, language)}</figure>`;
}

export function jsonBlock(title: string, value: unknown): Html {
  return codeBlock(title, JSON.stringify(value, null, 2));
}

/**
 * The same request in several languages, as tabs. The style sheet shows the reader's language, which `data-language` of
 * the root element names; without scripts, all are shown below each other.
 */
export function sampleTabs(id: string, samples: readonly CodeSample[]): Html {
  const tab = ({ label }: CodeSample, index: number) => {
    const name = label.toLowerCase();
    return html`<button type="button" role="tab" id="${id}.tab.${name}" data-language="${name}"
 aria-controls="${id}.${name}" aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${label}</button>`;
  };
  const panel = ({ label, source }: CodeSample) => {
    const name = label.toLowerCase();
    return html`<div class="sample ${name}" role="tabpanel" id="${id}.${name}" aria-labelledby="${id}.tab.${name}">
${code(`Request: ${label}`, source, name)}</div>`;
  };
  const [first] = samples;
  if (!first) return html``;
  if (samples.length === 1) return codeBlock('Request', first.source, 'shell');
  return html`<figure class="code samples"><figcaption><div role="tablist" aria-label="Language">${samples.map(tab)}</div>
${copyButton('Request')}</figcaption>${samples.map(panel)}</figure>`;
}

function copyButton(title: string): Html {
  return html`<button type="button" class="copy" hidden aria-label="Copy${title && `: ${title}`}">Copy</button>`;
}

function code(title: string, text: string, language: string): Html {
  return html`<pre tabindex="0" role="group" aria-label="${title || 'Code'}"><code class="${language}">${text}</code></pre>`;
}

export type Field = { name: string; required: boolean; schema: Schema; description?: string | undefined };

/** Lists the fields of an object, each followed by its nested fields: `address.city`, `shifts[].start`. */
export function listFields(schema: Schema, prefix = ''): Field[] {
  const own = Object.entries(schema.properties ?? {});
  return own.flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const { inner, suffix } = innerSchema(field);
    return [
      { name: path, required: schema.required?.includes(name) ?? false, schema: field },
      ...listFields(inner, `${path}${suffix}.`),
    ];
  });
}

/** Marks required fields in a request, and optional ones in a response. */
export function fieldTable(caption: string, fields: readonly Field[], mark: 'required' | 'optional'): Html {
  const rows = fields.map((field) => row(field, mark));
  return table('fields', caption, ['Name', 'Type and limits', 'Description'], rows);
}

/**
 * A table with rows from `tableRow`. The roles are explicit, because browsers may drop them when the style sheet displays
 * rows as blocks on narrow screens (web/docs/parts.css).
 */
export function table(name: string, caption: string, head: readonly string[], rows: readonly Html[]): Html {
  return html`<table class="${name}" role="table"><caption>${caption}</caption><thead role="rowgroup"><tr role="row">${head.map(
    (title) => html`<th scope="col" role="columnheader">${title}</th>`,
  )}</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`;
}

/** `header` is the index of the cell that names the row. */
export function tableRow(cells: readonly Html[], header: number): Html {
  return html`<tr role="row">${cells.map((cell, index) =>
    index === header ? html`<th scope="row" role="rowheader">${cell}</th>` : html`<td role="cell">${cell}</td>`,
  )}</tr>
`;
}

function row({ name, required, schema, description }: Field, mark: 'required' | 'optional'): Html {
  const limits = listLimits(schema);
  const marked = required === (mark === 'required');
  return tableRow(
    [
      html`<code>${breakable(name)}</code>${marked && html` <span class="${mark}">${mark}</span>`}`,
      html`${describeType(schema)}${limits.length > 0 && html`<span class="limits">${limits.join('; ')}</span>`}`,
      html`${prose(description ?? schema.description ?? '')}${valueList(schema)}`,
    ],
    0,
  );
}

/** Explains the values of an enum. */
function valueList(schema: Schema): Html | false {
  const values = Object.entries(innerSchema(schema).inner['x-enumDescriptions'] ?? {});
  if (values.length === 0) return false;
  return html`<ul class="values">${values.map(([value, text]) => html`<li><code>${breakable(value)}</code> ${text}</li>`)}</ul>`;
}

/** Unwraps arrays and nullable values. */
function innerSchema(schema: Schema): { inner: Schema; suffix: string } {
  const present = schema.anyOf?.find((branch) => branch.type !== 'null') ?? schema;
  return present.items ? { inner: innerSchema(present.items).inner, suffix: '[]' } : { inner: present, suffix: '' };
}

export function describeType(schema: Schema): string {
  const any = listAlternatives(schema);
  if (any) return [...new Set(any.map(describeType))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  if (schema.contentMediaType) return 'file';
  if (schema.type === 'array') return `array of ${schema.items ? describeType(schema.items) : 'anything'}`;
  if (schema.format) return schema.format;
  return schema.type ?? 'anything';
}

function listLimits(schema: Schema): string[] {
  const inner = schema.anyOf?.find((branch) => branch.type !== 'null') ?? schema;
  return [
    describeLength(inner),
    range(inner.minimum, inner.maximum, ''),
    range(inner.minItems, inner.maxItems, 'elements'),
    // A description explains the format better than a pattern.
    inner.pattern && !schema.description && !inner.description && `matches ${inner.pattern}`,
    inner.default !== undefined && `default ${String(inner.default)}`,
  ].filter((limit): limit is string => typeof limit === 'string' && limit !== '');
}

/** The limit of every text is in the overview. A minimum length of one is implied by `required`. */
function describeLength({ minLength, maxLength }: Schema): string {
  const most = maxLength === text_max ? undefined : maxLength;
  return most === undefined && minLength === 1 ? '' : range(minLength, most, 'characters');
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  const limit =
    least !== undefined && most !== undefined
      ? `${least} to ${most}`
      : least !== undefined
        ? `at least ${least}`
        : most !== undefined && `at most ${most}`;
  return limit ? `${limit} ${unit}`.trim() : '';
}
