import type { Schema } from '../api/document.ts';
import { type Html, html, prose } from './html.ts';

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

/** Fields as a table; on a narrow screen each row stands as a block of its own (see web/docs/style.css). */
export function fieldTable(caption: string, fields: readonly Field[]): Html {
  return html`<table class="fields"><caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Type and limits</th><th scope="col">Description</th></tr></thead>
<tbody>${fields.map(row)}</tbody></table>`;
}

function row({ name, required, schema, description }: Field): Html {
  const limits = limitsOf(schema);
  return html`<tr><th scope="row"><code>${name}</code>${required && html` <span class="required">required</span>`}</th>
<td>${typeOf(schema)}${limits.length > 0 && html`<span class="limits">${limits.join('; ')}</span>`}</td>
<td>${prose(description ?? schema.description ?? '')}</td></tr>`;
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
    inner.pattern && `matches ${inner.pattern}`,
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
