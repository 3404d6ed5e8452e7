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
