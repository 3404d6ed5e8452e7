import { readFileSync } from 'node:fs';
import type { openApi } from './openapi.ts';

type Schema = {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  description?: string;
  maxLength?: number;
  properties?: Record<string, Schema>;
  required?: string[];
};
type Parameter = { name: string; in: string; required: boolean; description?: string; schema: Schema };
type Operation = {
  operationId: string;
  summary: string;
  security: Record<string, unknown>[];
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content: Record<string, { schema: Schema }> }>;
};

/** The reference as one page without scripts, drawn from the OpenAPI document. */
export function referencePage(document: ReturnType<typeof openApi>): { page: string; style: string } {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation: operation as Operation })),
  );
  const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Chartwire reference</title><link rel="stylesheet" href="/docs/style.css"></head>
<body><a class="skip" href="#main">Skip to the endpoints</a>
<header><h1>Chartwire reference</h1><p>Version ${escapeHtml(document.info.version)} ·
<a href="/openapi.json">OpenAPI document</a></p></header>
<nav aria-label="Endpoints"><ul>${operations
    .map(({ method, path, operation }) => `<li><a href="#${operation.operationId}">${label(method, path)}</a></li>`)
    .join('')}</ul></nav>
<main id="main">${operations.map(section).join('')}</main></body></html>`;
  return { page, style: readFileSync(new URL('./docs.css', import.meta.url), 'utf8') };
}

function section({ method, path, operation }: { method: string; path: string; operation: Operation }): string {
  const auth = Object.keys(operation.security[0] ?? {});
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  const answer = operation.responses['200']?.content['application/json']?.schema;
  const errors = Object.entries(operation.responses).filter(([status]) => status !== '200');
  return `<section aria-labelledby="${operation.operationId}"><h2 id="${operation.operationId}">${label(method, path)}</h2>
<p>${escapeHtml(operation.summary)}.</p>
<p>Headers: ${auth.map((name) => `<code>${name}</code>`).join(', ') || 'none'}</p>
${operation.parameters.length > 0 ? table('Parameters', operation.parameters.map(parameterRow)) : ''}
${body?.properties && Object.keys(body.properties).length > 0 ? table('Body', fieldRows(body)) : ''}
${answer ? table('Answer', fieldRows(answer)) : ''}
<details><summary>Errors</summary><ul>${errors
    .map(([status, { description }]) =>
      description
        .split('  \n')
        .map((line) => `<li>${status} ${escapeHtml(line).replace(/`(\w+)`/, '<code>$1</code>')}</li>`)
        .join(''),
    )
    .join('')}</ul></details></section>`;
}

function parameterRow(parameter: Parameter): string[] {
  const where = parameter.in === 'query' ? 'query' : parameter.in;
  const note = parameter.schema.description ?? parameter.description ?? '';
  return [parameter.name, `${typeOf(parameter.schema)}, ${where}${parameter.required ? ', required' : ''}`, note];
}

function fieldRows(schema: Schema): string[][] {
  return Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const limit =
      field.maxLength !== undefined && field.maxLength < 2000 ? `at most ${field.maxLength} characters` : '';
    const required = schema.required?.includes(name) ? ', required' : '';
    return [name, `${typeOf(field)}${required}`, [field.description, limit].filter(Boolean).join('; ')];
  });
}

function typeOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map(String).join(' | ');
  if (schema.const !== undefined) return String(schema.const);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.type === 'array') return `array of ${schema.items ? typeOf(schema.items) : 'any'}`;
  return schema.type ?? 'any';
}

function table(caption: string, rows: string[][]): string {
  const cells = rows.map(([name = '', type = '', note = '']) => {
    return `<tr><th scope="row"><code>${escapeHtml(name)}</code></th><td>${escapeHtml(type)}</td><td>${escapeHtml(note)}</td></tr>`;
  });
  return `<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table><caption>${caption}</caption><thead>
<tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Notes</th></tr></thead>
<tbody>${cells.join('')}</tbody></table></div>`;
}

function label(method: string, path: string): string {
  return `<span class="method">${method.toUpperCase()}</span> ${escapeHtml(path)}`;
}

function escapeHtml(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => names[character] ?? '');
}
