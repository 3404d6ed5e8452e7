import type { Endpoint } from '../endpoint.ts';
import { type CodeSample, camelCase, snakeCase } from './document.ts';

export type SampleValues = {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body?: Record<string, unknown> | undefined;
};

/**
 * The request of an endpoint in curl, TypeScript and Python. Each is complete: credentials come from the environment
 * variables CLIENT_ID, CLIENT_SECRET and ACCESS_TOKEN. Tests run them against the sandbox.
 */
export function codeSamples(
  endpoint: Endpoint,
  values: SampleValues,
  base_url: string,
  credentials: readonly string[],
): CodeSample[] {
  const command = curl({
    method: endpoint.method,
    url: base_url + urlPath(endpoint.path, values.params, values.query),
    headers: credentials,
    body: values.body,
    file_field: endpoint.file_field,
  });
  const samples: CodeSample[] = [{ lang: 'Shell', label: 'curl', source: command }];
  // The client libraries have no streams: applications register webhooks.
  if (endpoint.stream) return samples;
  return [
    ...samples,
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(endpoint, values, base_url, credentials) },
    { lang: 'Python', label: 'Python', source: python(endpoint, values, base_url, credentials) },
  ];
}

function typescript(
  endpoint: Endpoint,
  { params, query, body }: SampleValues,
  base_url: string,
  credentials: readonly string[],
): string {
  const variables = credentials.map((name) => name.toUpperCase());
  const options = credentials.map((name, index) => `  ${camelCase(name)}: ${variables[index]},\n`);
  const inputs = [
    ...Object.entries(params).map(([name, value]) => typescriptText(pathValue(name, value))),
    ...(hasFields(endpoint) && body ? [typescriptText(body, endpoint.file_field)] : []),
    ...(Object.keys(query).length > 0 ? [typescriptText(query)] : []),
  ];
  return [
    ...(endpoint.file_field ? ["import { readFile } from 'node:fs/promises';\n"] : []),
    "import { Chartwire } from '@chartwire/client';\n\n",
    `const { ${variables.map((name) => `${name} = ''`).join(', ')} } = process.env;\n`,
    `const client = new Chartwire({\n  baseUrl: '${base_url}',\n${options.join('')}});\n\n`,
    `const response = await client.${endpoint.id.split('.').map(camelCase).join('.')}(${inputs.join(', ')});\n`,
    'console.log(response);',
  ].join('');
}

function python(
  endpoint: Endpoint,
  { params, query, body }: SampleValues,
  base_url: string,
  credentials: readonly string[],
): string {
  const options = credentials.map((name) => `    ${name}=os.environ["${name.toUpperCase()}"],\n`);
  const inputs = [
    ...Object.entries(params).map(([name, value]) => pythonText(pathValue(name, value))),
    ...(hasFields(endpoint) && body ? [pythonText(body, endpoint.file_field)] : []),
    ...Object.entries(query).map(([name, value]) => `${name}=${pythonText(value)}`),
  ];
  const call = `client.${endpoint.id.split('.').map(snakeCase).join('.')}(${inputs.join(', ')})`;
  return [
    `import os\n${endpoint.file_field ? 'from pathlib import Path\n' : ''}\n`,
    `from chartwire import Chartwire${endpoint.file_field ? ', File' : ''}\n\n`,
    `client = Chartwire(\n    base_url="${base_url}",\n${options.join('')})\n\n`,
    `response = ${call}${isList(endpoint) ? '.page' : ''}\nprint(response)`,
  ].join('');
}

/** Path parameters are strings, except for the number of a job. */
function pathValue(name: string, value: unknown): unknown {
  return name === 'job_id' ? Number(value) : String(value);
}

/** A body without fields is not an argument. */
function hasFields({ body }: Endpoint): boolean {
  return Object.keys(body?.properties ?? {}).length > 0;
}

/** Lists are read page by page. */
function isList({ id, reads, response }: Endpoint): boolean {
  const { properties = {} } = response as { properties?: Record<string, { type?: string }> };
  return (id.endsWith('.list') || reads === true) && Object.values(properties).some(({ type }) => type === 'array');
}

function typescriptText(value: unknown, file_field?: string): string {
  return print(value, {
    indent: '  ',
    key: (name) => (/^\w+$/.test(name) ? name : `'${name}'`),
    text: (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`,
    words: { true: 'true', false: 'false', null: 'null' },
    file: (name) => `new File([await readFile('${name}')], '${name}')`,
    file_field,
  });
}

function pythonText(value: unknown, file_field?: string): string {
  return print(value, {
    indent: '    ',
    key: (name) => `"${name}"`,
    text: (text) => JSON.stringify(text),
    words: { true: 'True', false: 'False', null: 'None' },
    file: (name) => `File(Path("${name}").read_bytes(), "${name}")`,
    file_field,
  });
}

type Style = {
  indent: string;
  key: (name: string) => string;
  text: (text: string) => string;
  words: Record<'true' | 'false' | 'null', string>;
  file: (name: string) => string;
  file_field: string | undefined;
};

/** A value as source text. Objects with more than one field have a line per field. */
function print(value: unknown, style: Style): string {
  if (typeof value === 'string') return style.text(value);
  if (value === null || typeof value === 'boolean') return style.words[`${value}`];
  if (Array.isArray(value)) return `[${value.map((each) => print(each, style)).join(', ')}]`;
  if (typeof value !== 'object') return String(value);
  const fields = Object.entries(value ?? {}).map(([name, each]) => {
    const text = name === style.file_field ? style.file(String(each)) : print(each, style);
    return `${style.key(name)}: ${text}`;
  });
  if (fields.length < 2 && !fields[0]?.includes('\n')) return fields.length === 0 ? '{}' : `{ ${fields[0]} }`;
  const lines = fields.map((field) => `${field},`).join('\n');
  return `{\n${lines.replace(/^/gm, style.indent)}\n}`;
}

export type Request = {
  method: string;
  /** With its parameters filled in. */
  url: string;
  headers: readonly string[];
  body?: Record<string, unknown> | undefined;
  file_field?: string | undefined;
};

/** Formats the request as a curl command. Credentials come from shell variables. */
export function curl({ method, url, headers, body, file_field }: Request): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quote(url)}`];
  for (const name of headers) lines.push(`-H "${name}: $${name.toUpperCase()}"`);
  if (body && file_field === undefined) {
    lines.push(
      "-H 'content-type: application/json'",
      `-d ${quote(JSON.stringify(body, null, 2).replaceAll('\n', '\n  '))}`,
    );
  }
  if (body && file_field !== undefined) {
    for (const [name, value] of Object.entries(body)) {
      lines.push(`-F ${quote(name === file_field ? `${name}=@${value}` : `${name}=${value}`)}`);
    }
  }
  return lines.join(' \\\n  ');
}

/** Fills in the path parameters and appends the query. */
export function urlPath(path: string, params: Record<string, unknown>, query: Record<string, unknown>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')));
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  const search = new URLSearchParams(pairs).toString();
  return search === '' ? filled : `${filled}?${search}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
