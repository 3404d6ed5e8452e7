import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Credentials, type EmrEndpoint, EmrFailure, type SignIn } from '../connector.ts';
import { call, type Denied } from './call.ts';
import { signedIn, toGrant } from './session.ts';

/** Password first, then the one-time code. Nothing is kept in between: with a code, both steps are taken at once. */
export async function signIn(endpoint: EmrEndpoint, credentials: Credentials, one_time_code?: string): Promise<SignIn> {
  await checkProduct(endpoint);
  // Authenticator apps show '123 456', and people copy it so.
  const code = one_time_code?.replace(/\s/g, '');
  // A challenge lives five minutes and is met at once; one that ran out all the same is asked for once more.
  const outcome = (await trySignIn(endpoint, credentials, code)) ?? (await trySignIn(endpoint, credentials, code));
  if (!outcome) throw new EmrFailure('unavailable', 'Larkspur ended the sign-in before it was complete.');
  return outcome;
}

const practice = Compile(Type.Object({ product: Type.Literal('Larkspur') }));
const challenge = Compile(
  Type.Object({ status: Type.Literal('CODE_REQUIRED'), challengeId: Type.String({ minLength: 1 }) }),
);

/** Whatever else answers here must not be given a password. */
async function checkProduct(endpoint: EmrEndpoint): Promise<void> {
  const reply = await call(endpoint, { method: 'GET', path: '/api/practice', answer: practice });
  if (!('answer' in reply)) throw new EmrFailure('refused', 'This address is not a Larkspur EMR.');
}

/** Undefined when the challenge ran out in between. */
async function trySignIn(
  endpoint: EmrEndpoint,
  credentials: Credentials,
  code: string | undefined,
): Promise<SignIn | undefined> {
  const { username: userName, password } = credentials;
  const first = await call(endpoint, {
    method: 'POST',
    path: '/api/login',
    body: { userName, password },
    answer: challenge,
  });
  if (!('answer' in first)) return apiError(first, 'credentials');
  if (!code) return { outcome: 'code_required' };

  const { challengeId } = first.answer;
  const second = await call(endpoint, {
    method: 'POST',
    path: '/api/login/code',
    body: { challengeId, code, rememberDevice: 'Y' },
    answer: signedIn,
  });
  if ('answer' in second) {
    const { staffId, staffName, timeZone } = second.answer;
    const user = { ehr_id: staffId, name: staffName };
    return { outcome: 'signed_in', grant: toGrant(second.answer), user, timezone: timeZone };
  }
  return second.code === 'CHALLENGE_EXPIRED' ? undefined : apiError(second, 'code');
}

/** BAD_REQUEST: what was typed is empty or longer than anything Larkspur gives out, so it is wrong. */
function apiError({ code, failure }: Denied, typed: 'credentials' | 'code'): SignIn {
  if (code === 'LOCKED') return { outcome: 'refused', because: 'locked' };
  if (code === 'BAD_CREDENTIALS' || code === 'BAD_CODE' || code === 'BAD_REQUEST') {
    return { outcome: 'refused', because: typed };
  }
  throw failure;
}
