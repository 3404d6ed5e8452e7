import type { Answer } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';

/** An operator who is signed in, without a browser. */
export type TestOperator = {
  call(method: string, path: string, body?: unknown): Promise<Answer>;
};

/** Signs the sandbox's owner in. */
export async function signInOwner({ sandbox }: Pick<TestSandbox, 'sandbox'>): Promise<TestOperator> {
  const { email, password } = sandbox.dashboard;
  const headers: Record<string, string> = { origin: sandbox.base_url, 'sec-fetch-site': 'same-origin' };
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(sandbox.base_url + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // What goes on for ever is not waited for.
    if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
      await answer.body?.cancel();
      return { status: answer.status, headers: answer.headers, body: undefined };
    }
    const text = await answer.text();
    const json = answer.headers.get('content-type')?.startsWith('application/json');
    return { status: answer.status, headers: answer.headers, body: json ? JSON.parse(text) : text };
  };
  const signed_in = await call('POST', '/dashboard/api/session', { email, password });
  if (signed_in.status !== 200) throw new Error(`The owner was not signed in: ${JSON.stringify(signed_in.body)}`);
  headers.cookie = signed_in.headers.get('set-cookie')?.split(';')[0] ?? '';
  headers['x-csrf-token'] = signed_in.body.session.csrf_token;
  return { call };
}
