import { Type } from 'typebox';
import type { Context } from '../context.ts';
import { read } from '../machine/operation.ts';
import { flag } from '../practice/fields.ts';
import { getPractice } from '../practice/practice.ts';
import { endSession } from '../signin/sessions.ts';
import { type SignedIn, signInWithCode, signInWithDevice, signInWithPassword } from '../signin/signIn.ts';

const typed = Type.String({ minLength: 1, maxLength: 200 });

/** None of these is a write to a chart: no ledger entry, no receipt. */
export const loginOperations = [
  read({
    name: 'login',
    method: 'POST',
    path: '/api/login',
    open: true,
    body: Type.Object({ userName: typed, password: typed }, { additionalProperties: false }),
    handle: async ({ context, body }) => ({
      status: 'CODE_REQUIRED',
      challengeId: await signInWithPassword(context, body.userName, body.password),
    }),
  }),
  read({
    name: 'login_code',
    method: 'POST',
    path: '/api/login/code',
    open: true,
    body: Type.Object({ challengeId: typed, code: typed, rememberDevice: flag }, { additionalProperties: false }),
    handle: async ({ context, body: { challengeId, code, rememberDevice } }) =>
      sessionAnswer(context, await signInWithCode(context, { challengeId, code, remember: rememberDevice === 'Y' })),
  }),
  read({
    name: 'login_device',
    method: 'POST',
    path: '/api/login/device',
    open: true,
    body: Type.Object({ userName: typed, password: typed, deviceToken: typed }, { additionalProperties: false }),
    handle: async ({ context, body }) => sessionAnswer(context, await signInWithDevice(context, body)),
  }),
  read({
    name: 'logout',
    method: 'POST',
    path: '/api/logout',
    handle: async ({ sql, session }) => {
      await endSession(sql, session.tokenHash);
      return { status: 'SIGNED_OUT' };
    },
  }),
];

async function sessionAnswer({ sql }: Context, signedIn: SignedIn): Promise<object> {
  return {
    sessionToken: signedIn.session_token,
    sessionExpires: signedIn.session_expires,
    deviceToken: signedIn.device_token,
    staffId: signedIn.staff_id,
    staffName: signedIn.staff_name,
    role: signedIn.role,
    timeZone: (await getPractice(sql)).timeZone,
  };
}
