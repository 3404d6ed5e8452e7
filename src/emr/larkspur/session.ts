import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Access, Credentials, EmrEndpoint, Grant, SignIn } from '../connector.ts';
import { EmrFailure } from '../emrFailure.ts';
import { createGrantStore } from '../grantStore.ts';
import { call, type LarkspurRequest, type Rejection, type Reply } from './call.ts';

/** Sends a request as the person who linked the account. */
export type SendRequest = <Body>(input: LarkspurRequest<Body>) => Promise<Reply<Body>>;

/**
 * Sessions expire after 30 idle minutes. The device token from sign-in opens the next one without a person. A call
 * rejected with an expired session was not applied, so it is repeated, including writes.
 */
export function openSession(endpoint: EmrEndpoint, access: Access): SendRequest {
  const grant = createGrantStore(endpoint, access, (before, signal) => renew({ ...endpoint, signal }, access, before));
  return async (input) => {
    const used = grant.current();
    const reply = await call(endpoint, input, used.session_token);
    if (!isExpired(reply)) return reply;
    await grant.renew(used);
    const again = await call(endpoint, input, grant.current().session_token);
    if (isExpired(again)) throw new EmrFailure('unavailable', 'Larkspur ended the new session immediately.');
    return again;
  };
}

/**
 * Sends the password, then the one-time code. Nothing is stored in between: with a code, both steps run in one call.
 */
export async function signIn(endpoint: EmrEndpoint, credentials: Credentials, one_time_code?: string): Promise<SignIn> {
  await checkProduct(endpoint);
  // Authenticator apps show '123 456', and people copy the space.
  const code = one_time_code?.replace(/\s/g, '');
  // A challenge is valid for five minutes. If it expires anyway, a new one is requested once.
  const outcome =
    (await attemptSignIn(endpoint, credentials, code)) ?? (await attemptSignIn(endpoint, credentials, code));
  if (!outcome) throw new EmrFailure('unavailable', 'Larkspur ended the sign-in before it was complete.');
  return outcome;
}

/** Ends the session and forgets the device. A session that has expired already is fine. */
export async function signOut(endpoint: EmrEndpoint, { grant }: Pick<Access, 'grant'>): Promise<boolean> {
  const forgotten = await call(endpoint, {
    method: 'POST',
    path: '/api/login/device/forget',
    body: { deviceToken: grant.device_token },
    schema: status,
  });
  const ended = await call(endpoint, { method: 'POST', path: '/api/logout', schema: status }, grant.session_token);
  if (!('body' in ended) && ended.code !== 'SESSION_EXPIRED') throw ended.failure;
  if (!('body' in forgotten)) throw forgotten.failure;
  return true;
}

/** The password must not be sent to any other software. */
export async function checkProduct(endpoint: EmrEndpoint): Promise<void> {
  const reply = await call(endpoint, { method: 'GET', path: '/api/practice', schema: practice, returns: 'sign_in' });
  if ('body' in reply) return;
  throw new EmrFailure('refused', 'This address is not a Larkspur EMR.', { wrong_address: true });
}

function isExpired(reply: Reply<unknown>): boolean {
  return 'code' in reply && reply.code === 'SESSION_EXPIRED';
}

async function renew(endpoint: EmrEndpoint, { credentials }: Access, grant: Grant): Promise<Grant> {
  const reply = await call(endpoint, {
    method: 'POST',
    path: '/api/login/device',
    body: { userName: credentials.username, password: credentials.password, deviceToken: grant.device_token },
    schema: signedIn,
    returns: 'sign_in',
  });
  if (!('body' in reply)) {
    const reason = login_required_reasons.get(reply.code);
    if (reason !== undefined) throw new EmrFailure('login_required', reason);
    // A lock expires by itself, and a person could not sign in before either.
    const locked = reply.code === 'LOCKED' && 'Larkspur has temporarily locked this user.';
    throw new EmrFailure('unavailable', locked || reply.failure.message);
  }
  return toGrant(reply.body);
}

const login_required_reasons = new Map<string | undefined, string>([
  ['BAD_CREDENTIALS', 'Larkspur no longer accepts the username and password.'],
  ['DEVICE_UNKNOWN', 'Larkspur requires a new one-time code.'],
  ['BAD_REQUEST', 'Larkspur requires a new sign-in.'],
]);

/** Returns undefined if the challenge expired. */
async function attemptSignIn(
  endpoint: EmrEndpoint,
  credentials: Credentials,
  code: string | undefined,
): Promise<SignIn | undefined> {
  const { username: userName, password } = credentials;
  const first = await call(endpoint, {
    method: 'POST',
    path: '/api/login',
    body: { userName, password },
    schema: challenge,
    returns: 'sign_in',
  });
  if (!('body' in first)) return toRefusal(first, 'credentials');
  if (!code) return { outcome: 'code_required' };

  const { challengeId } = first.body;
  const second = await call(endpoint, {
    method: 'POST',
    path: '/api/login/code',
    body: { challengeId, code, rememberDevice: 'Y' },
    schema: signedIn,
    returns: 'sign_in',
  });
  if ('body' in second) {
    const { staffId, staffName, timeZone } = second.body;
    const user = { ehr_id: staffId, name: staffName };
    return { outcome: 'signed_in', grant: toGrant(second.body), user, timezone: timeZone };
  }
  return second.code === 'CHALLENGE_EXPIRED' ? undefined : toRefusal(second, 'code');
}

/** BAD_REQUEST: the input is empty or longer than any valid value, so it is wrong. */
function toRefusal({ code, failure }: Rejection, input: 'credentials' | 'code'): SignIn {
  if (code === 'LOCKED') return { outcome: 'refused', reason: 'locked' };
  if (code === 'BAD_CREDENTIALS' || code === 'BAD_CODE' || code === 'BAD_REQUEST') {
    return { outcome: 'refused', reason: input };
  }
  throw failure;
}

function toGrant(body: { sessionToken: string; deviceToken: string }): Grant {
  return { session_token: body.sessionToken, device_token: body.deviceToken };
}

const text = Type.String({ minLength: 1 });
const signedIn = Compile(
  Type.Object({ sessionToken: text, deviceToken: text, staffId: text, staffName: Type.String(), timeZone: text }),
);

const status = Compile(Type.Object({ status: Type.String() }));
const practice = Compile(Type.Object({ product: Type.Literal('Larkspur') }));
const challenge = Compile(
  Type.Object({ status: Type.Literal('CODE_REQUIRED'), challengeId: Type.String({ minLength: 1 }) }),
);
