import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { type Access, type EmrEndpoint, EmrFailure, type Grant } from '../connector.ts';
import { createGrantStore } from '../grantStore.ts';
import { call, type LarkspurRequest, type Reply } from './call.ts';

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

const text = Type.String({ minLength: 1 });
export const signedIn = Compile(
  Type.Object({ sessionToken: text, deviceToken: text, staffId: text, staffName: Type.String(), timeZone: text }),
);

export function toGrant(body: { sessionToken: string; deviceToken: string }): Grant {
  return { session_token: body.sessionToken, device_token: body.deviceToken };
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
    // A lock expires by itself. Until then, nobody could sign in either.
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
