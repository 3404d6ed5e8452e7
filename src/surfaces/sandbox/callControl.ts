import { apiError } from '../../catalog/errors.ts';
import type { Sandbox } from './seedSandbox.ts';

export const emr = 'Larkspur';
/** A reset seeds the whole practice again, which takes one or two seconds. */
const timeout_ms = 30_000;

/** Sends a request to Larkspur's control API. */
export async function callControl<T>(
  { url, control_token }: Sandbox['larkspur'],
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url + path, {
      method,
      headers: {
        'control-token': control_token,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeout_ms),
    });
  } catch (cause) {
    throw apiError('emr_unavailable', { emr }, { cause });
  }
  if (!response.ok) throw new Error(`The control API responded to ${method} ${path} with ${response.status}.`);
  // docs/larkspur.md describes the responses of the control API.
  return (await response.json()) as T;
}
