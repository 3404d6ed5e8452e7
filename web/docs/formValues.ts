import { credentials, fetchSandbox } from './credentials.ts';

/** The last successful response of each endpoint, for the forms of other endpoints. */
const responses = new Map<string, unknown>();

export function storeResponse(method: string, path: string, body: unknown): void {
  responses.set(`${method} ${path}`, body);
}

/** The value of a source such as `GET /v1/locations#/locations/0/id`, or undefined if there is none yet. */
export async function findValue(source: string): Promise<unknown> {
  const [request = '', pointer = ''] = source.split('#');
  return valueAt(await fetchResponse(request), pointer);
}

async function fetchResponse(request: string): Promise<unknown> {
  if (request === 'sandbox') return fetchSandbox();
  const [method, path = ''] = request.split(' ');
  const headers = credentials(['client_id', 'client_secret', 'access_token']);
  // Only GET requests are sent automatically, and only with credentials.
  if (method !== 'GET' || !headers.client_secret) return responses.get(request);
  const response = await fetch(path, { headers }).catch(() => undefined);
  return response?.ok ? response.json() : undefined;
}

function valueAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const part of pointer.split('/').slice(1)) {
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[part] : undefined;
  }
  return at;
}
