import type { Schema } from '../openapi/document.ts';
import { breakable, type Html, html, prose } from './html.ts';

export type Field = { name: string; required: boolean; schema: Schema; description?: string | undefined };

/** The fields of an object, and below each the fields of what it holds: `address.city`, `shifts[].start`. */
export function fieldsOf(schema: Schema, before = ''): Field[] {
  const own = Object.entries(schema.properties ?? {});
  return own.flatMap(([name, field]) => {
    const path = `${before}${name}`;
    const { described, suffix } = within(field);
    return [
      { name: path, required: schema.required?.includes(name) ?? false, schema: field },
      ...fieldsOf(described, `${path}${suffix}.`),
    ];
  });
}

/** Fields as a table: of a request the required ones are marked, of an answer those that may be absent. */
export function fieldTable(caption: string, fields: readonly Field[], mark: 'required' | 'optional'): Html {
  const rows = fields.map((field) => row(field, mark));
  return table('fields', caption, ['Name', 'Type and limits', 'Description'], rows);
}

/**
 * A table whose rows are made by `tableRow`. Its roles are written out: a browser may forget them where the style lays
 * rows out as blocks, on a narrow screen (web/docs/parts.css).
 */
export function table(name: string, caption: string, head: readonly string[], rows: readonly Html[]): Html {
  return html`<table class="${name}" role="table"><caption>${caption}</caption><thead role="rowgroup"><tr role="row">${head.map(
    (title) => html`<th scope="col" role="columnheader">${title}</th>`,
  )}</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`;
}

/** One row: the cell that names it is its header. */
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
      prose(description ?? schema.description ?? ''),
    ],
    0,
  );
}

/** What an array or a value that may be null holds. */
function within(schema: Schema): { described: Schema; suffix: string } {
  const present = schema.anyOf?.find((branch) => branch.type !== 'null') ?? schema;
  return present.items
    ? { described: within(present.items).described, suffix: '[]' }
    : { described: present, suffix: '' };
}

export function typeOf(schema: Schema): string {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
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
    range(inner.minLength, inner.maxLength, 'characters'),
    range(inner.minimum, inner.maximum, ''),
    range(inner.minItems, inner.maxItems, 'elements'),
    // Words of the description say it better, where there are any.
    inner.pattern && !schema.description && !inner.description && `matches ${inner.pattern}`,
    inner.default !== undefined && `default ${String(inner.default)}`,
  ].filter((limit): limit is string => typeof limit === 'string' && limit !== '');
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
