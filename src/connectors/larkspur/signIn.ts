import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Credentials, type EmrEndpoint, EmrFailure, type SignIn } from '../connector.ts';
import { call, type Denied } from './call.ts';
import { signedIn, toGrant } from './session.ts';

/**
 * Sends the password, then the one-time code. Nothing is stored in between: with a code, both steps run in one call.
 */
export async function signIn(endpoint: EmrEndpoint, credentials: Credentials, one_time_code?: string): Promise<SignIn> {
  await checkProduct(endpoint);
  // Authenticator apps show '123 456', and people copy the space.
  const code = one_time_code?.replace(/\s/g, '');
  // A challenge is valid for five minutes. If it expires anyway, a new one is requested once.
  const outcome = (await trySignIn(endpoint, credentials, code)) ?? (await trySignIn(endpoint, credentials, code));
  if (!outcome) throw new EmrFailure('unavailable', 'Larkspur ended the sign-in before it was complete.');
  return outcome;
}

const practice = Compile(Type.Object({ product: Type.Literal('Larkspur') }));
const challenge = Compile(
  Type.Object({ status: Type.Literal('CODE_REQUIRED'), challengeId: Type.String({ minLength: 1 }) }),
);

/** The password must not be sent to any other software. */
async function checkProduct(endpoint: EmrEndpoint): Promise<void> {
  const reply = await call(endpoint, { method: 'GET', path: '/api/practice', answer: practice });
  if (!('answer' in reply)) throw new EmrFailure('refused', 'This address is not a Larkspur EMR.');
}

/** Returns undefined if the challenge expired. */
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

/** BAD_REQUEST: the input is empty or longer than any valid value, so it is wrong. */
function apiError({ code, failure }: Denied, typed: 'credentials' | 'code'): SignIn {
  if (code === 'LOCKED') return { outcome: 'refused', because: 'locked' };
  if (code === 'BAD_CREDENTIALS' || code === 'BAD_CODE' || code === 'BAD_REQUEST') {
    return { outcome: 'refused', because: typed };
  }
  throw failure;
}
