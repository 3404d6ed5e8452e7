import type { Sandbox } from '../../../src/surfaces/sandbox/seedSandbox.ts';
import type { Call } from '../../linkAccount.ts';
import { createCall } from './accounts.ts';

/** Sends requests to the dashboard as its owner. */
export type Operator = Call;

/** Signs in once: the number of password checks is limited. */
export async function signInOperator({ base_url, dashboard }: Sandbox): Promise<Operator> {
  const { email, password } = dashboard;
  const response = await fetch(`${base_url}/dashboard/api/session`, {
    method: 'POST',
    headers: { origin: base_url, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  if (!response.ok) throw new Error(`The sign-in to the dashboard returned ${response.status}.`);
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
  const { session } = (await response.json()) as { session: { csrf_token: string } };
  return createCall(base_url, { origin: base_url, cookie, 'x-csrf-token': session.csrf_token });
}
