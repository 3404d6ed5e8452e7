import { text_max } from '../../model/fields.ts';
import type { Schema } from '../../http/openapi/document.ts';
import { alternativesOf } from '../../http/openapi/methods.ts';
import { breakable, type Html, html, prose } from './html.ts';

export type Field = { name: string; required: boolean; schema: Schema; description?: string | undefined };

/** Lists the fields of an object, each followed by its nested fields: `address.city`, `shifts[].start`. */
export function fieldsOf(schema: Schema, prefix = ''): Field[] {
  const own = Object.entries(schema.properties ?? {});
  return own.flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const { inner, suffix } = innerSchema(field);
    return [
      { name: path, required: schema.required?.includes(name) ?? false, schema: field },
      ...fieldsOf(inner, `${path}${suffix}.`),
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
  const limits = limitsOf(schema);
  const marked = required === (mark === 'required');
  return tableRow(
    [
      html`<code>${breakable(name)}</code>${marked && html` <span class="${mark}">${mark}</span>`}`,
      html`${typeOf(schema)}${limits.length > 0 && html`<span class="limits">${limits.join('; ')}</span>`}`,
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

export function typeOf(schema: Schema): string {
  const any = alternativesOf(schema);
  if (any) return [...new Set(any.map(typeOf))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
  if (schema.contentMediaType) return 'file';
  if (schema.type === 'array') return `array of ${schema.items ? typeOf(schema.items) : 'anything'}`;
  if (schema.format) return schema.format;
  return schema.type ?? 'anything';
}

function limitsOf(schema: Schema): string[] {
  const inner = schema.anyOf?.find((branch) => branch.type !== 'null') ?? schema;
  return [
    lengthOf(inner),
    range(inner.minimum, inner.maximum, ''),
    range(inner.minItems, inner.maxItems, 'elements'),
    // A description explains the format better than a pattern.
    inner.pattern && !schema.description && !inner.description && `matches ${inner.pattern}`,
    inner.default !== undefined && `default ${String(inner.default)}`,
  ].filter((limit): limit is string => typeof limit === 'string' && limit !== '');
}

/** The limit of every text is in the overview. A minimum length of one is implied by `required`. */
function lengthOf({ minLength, maxLength }: Schema): string {
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
