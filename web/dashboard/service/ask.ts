/** An answer that was not what was asked for, in words that can be shown where it happened. */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  readonly field: string | undefined;
  readonly request_id: string | undefined;

  constructor(status: number, body: { message?: string; code?: string; field?: string; request_id?: string }) {
    super(body.message ?? 'The service did not answer as expected. Try again.');
    this.name = 'Problem';
    this.status = status;
    this.code = body.code ?? 'unreadable';
    this.field = body.field;
    this.request_id = body.request_id;
  }
}

let csrf_token = '';

/** Told with the session; goes with everything that changes something. */
export function keepCsrfToken(token: string): void {
  csrf_token = token;
}

type Asked = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  body?: unknown;
  /** Fetched by the page and not by the person: it does not keep an unattended session open. */
  background?: boolean;
  signal?: AbortSignal;
};

/** One call of the dashboard's own interface; `path` is what follows `/dashboard/api/`. */
export async function ask<Answer>(path: string, asked: Asked = {}): Promise<Answer> {
  const response = await send(path, asked);
  // The endpoint's schema, from which the type that the caller names is derived, is what the service serializes by.
  return (await response.json().catch(() => ({}))) as Answer;
}

/** An answer that is a file. */
export async function askFile(path: string, body: unknown): Promise<Blob> {
  return (await send(path, { method: 'POST', body })).blob();
}

/** An answer that comes line by line, each a JSON text: `tell` gets each as it comes. */
export async function askLines<Line>(path: string, tell: (line: Line) => void): Promise<void> {
  const { body } = await send(path, { method: 'POST' });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop() ?? '';
    // As above: the endpoint's schema says what a line is.
    for (const line of lines) tell(JSON.parse(line) as Line);
  }
}

async function send(path: string, { method = 'GET', body, background, signal }: Asked): Promise<Response> {
  const headers: Record<string, string> = {};
  if (background) headers['x-background'] = '1';
  if (method !== 'GET') {
    headers['x-csrf-token'] = csrf_token;
    headers['content-type'] = 'application/json';
  }
  const response = await fetch(`/dashboard/api/${path}`, {
    method,
    headers,
    ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    ...(signal ? { signal } : {}),
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    const message = 'The service cannot be reached. Check that it runs, then try again.';
    throw new Problem(0, { message, code: 'unreachable' });
  });
  if (response.ok) return response;
  // Every refusal of the service has these fields.
  throw new Problem(response.status, (await response.json().catch(() => ({}))) as { message?: string });
}
