import { askSandbox, credentials } from './credentials.ts';

/** The last good answer of each endpoint that was tried, so that one request can use what another gave. */
const answers = new Map<string, unknown>();

export function remember(method: string, path: string, body: unknown): void {
  answers.set(`${method} ${path}`, body);
}

/** The value at a source such as `GET /v1/locations#/locations/0/id`, or undefined where there is none yet. */
export async function findValue(source: string): Promise<unknown> {
  const [place = '', pointer = ''] = source.split('#');
  return valueAt(await askPlace(place), pointer);
}

async function askPlace(place: string): Promise<unknown> {
  if (place === 'sandbox') return askSandbox();
  const [method, path = ''] = place.split(' ');
  const headers = credentials(['client_id', 'client_secret', 'access_token']);
  // Only reading is done unasked, and only with credentials to do it with.
  if (method !== 'GET' || !headers.client_secret) return answers.get(place);
  const answer = await fetch(path, { headers }).catch(() => undefined);
  return answer?.ok ? answer.json() : undefined;
}

function valueAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const part of pointer.split('/').slice(1)) {
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[part] : undefined;
  }
  return at;
}
