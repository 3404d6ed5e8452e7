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
export async function ask<Answer>(
  path: string,
  { method = 'GET', body, background, signal }: Asked = {},
): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (background) headers['x-background'] = '1';
  if (method !== 'GET') {
    headers['x-csrf-token'] = csrf_token;
    headers['content-type'] = 'application/json';
  }
  let response: Response;
  try {
    response = await fetch(`/dashboard/api/${path}`, {
      method,
      headers,
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
      ...(signal ? { signal } : {}),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new Problem(0, {
      message: 'The service cannot be reached. Check that it runs, then try again.',
      code: 'unreachable',
    });
  }
  const answered: unknown = await response.json().catch(() => ({}));
  // Every refusal of the service has these fields.
  if (!response.ok) throw new Problem(response.status, answered as { message?: string });
  // The endpoint's schema, from which the type that the caller names is derived, is what the service serialises by.
  return answered as Answer;
}
