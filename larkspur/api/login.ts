import { Type } from 'typebox';
import type { Context } from '../context.ts';
import { read } from '../http/operation.ts';
import { getPractice } from '../practice/practice.ts';
import { flag } from '../records/fields.ts';
import { endSession, forgetDevice } from '../signin/sessions.ts';
import { type SignedIn, signInWithCode, signInWithDevice, signInWithPassword } from '../signin/signIn.ts';

const credential = Type.String({ minLength: 1, maxLength: 200 });

/** Declared with `read`: they change no chart, so they have no ledger entry and no receipt. */
export const loginOperations = [
  read({
    name: 'login',
    method: 'POST',
    path: '/api/login',
    public: true,
    body: Type.Object({ userName: credential, password: credential }, { additionalProperties: false }),
    handle: async ({ context, body }) => ({
      status: 'CODE_REQUIRED',
      challengeId: await signInWithPassword(context, body.userName, body.password),
    }),
  }),
  read({
    name: 'login_code',
    method: 'POST',
    path: '/api/login/code',
    public: true,
    body: Type.Object(
      { challengeId: credential, code: credential, rememberDevice: flag },
      { additionalProperties: false },
    ),
    handle: async ({ context, body: { challengeId, code, rememberDevice } }) =>
      sessionResponse(context, await signInWithCode(context, { challengeId, code, remember: rememberDevice === 'Y' })),
  }),
  read({
    name: 'login_device',
    method: 'POST',
    path: '/api/login/device',
    public: true,
    body: Type.Object(
      { userName: credential, password: credential, deviceToken: credential },
      { additionalProperties: false },
    ),
    handle: async ({ context, body }) => sessionResponse(context, await signInWithDevice(context, body)),
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
  // Public: the device may outlive its last session. Unknown devices get the same response.
  read({
    name: 'forget_device',
    method: 'POST',
    path: '/api/login/device/forget',
    public: true,
    body: Type.Object({ deviceToken: credential }, { additionalProperties: false }),
    handle: async ({ sql, body }) => {
      await forgetDevice(sql, body.deviceToken);
      return { status: 'FORGOTTEN' };
    },
  }),
];

async function sessionResponse({ sql }: Context, signedIn: SignedIn): Promise<object> {
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
