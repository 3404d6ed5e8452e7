import type { IncomingHttpHeaders } from 'node:http';
import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { version } from '../../../catalog/version.ts';
import {
  csrfTokenOf,
  deviceCookie,
  readDeviceCookie,
  readSessionCookie,
  requireOwnOrigin,
  sessionCookie,
} from '../../../http/auth/authenticateOperator.ts';
import { endpoint, WithHeaders } from '../../../http/endpoint.ts';
import { passkey_assertion, type Session, session } from '../../../model/dashboard/session.ts';
import { nullable, secret, success } from '../../../model/fields.ts';
import type { Context } from '../../../product/context.ts';
import { findCheckedSession } from '../../../product/operators/checkedSessions.ts';
import { type Browser, endSession, findSession, renewSession } from '../../../product/operators/operatorSessions.ts';
import { type Operator, pendingSetup } from '../../../product/operators/operators.ts';
import { passkeySignInOptions } from '../../../product/operators/passkeys.ts';
import { checkPasskeySignIn, checkPassword, type SignedIn, signInOperator } from '../../../product/operators/signIn.ts';
import { providerSignOutUrl } from '../../../product/operators/singleSignOn.ts';

const password = secret({ maxLength: 1000 });
const code = Type.Optional(secret({ maxLength: 40 }));
const password_errors = [
  'operator_credentials_wrong',
  'operator_code_required',
  'operator_code_wrong',
  'operator_passkey_required',
  'operator_locked',
  'operator_password_off',
] as const;

export const sessionCreate = endpoint({
  id: 'dashboard.session.create',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/session',
  auth: 'none',
  // A password check takes 20 ms of a core and 19 MiB.
  address_cost: 25,
  summary: 'Sign in',
  body: Type.Object({ email: Type.String({ maxLength: 320 }), password, code }),
  response: Type.Object({ success, session }),
  errors: [...password_errors, 'operator_request_foreign'],
  handle: async ({ ctx, headers, address, body }) => {
    requireOwnOrigin(ctx, headers);
    const browser = browserOf(ctx, headers, address);
    return started(ctx, await signInOperator(ctx, await checkPassword(ctx, body, browser), browser));
  },
});

export const sessionPasskeyOptions = endpoint({
  id: 'dashboard.session.passkey-options',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/session/passkey-options',
  auth: 'none',
  // It stores a row for five minutes.
  address_cost: 5,
  summary: 'Start a sign-in with a passkey',
  body: Type.Object({}),
  response: Type.Object({ success, options: Type.Unknown() }),
  errors: ['passkeys_need_name', 'operator_request_foreign'],
  handle: async ({ ctx, headers }) => {
    requireOwnOrigin(ctx, headers);
    return { success: true, options: await passkeySignInOptions(ctx) };
  },
});

export const sessionPasskey = endpoint({
  id: 'dashboard.session.passkey',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/session/passkey',
  auth: 'none',
  address_cost: 5,
  summary: 'Sign in with a passkey',
  body: Type.Object({ passkey: passkey_assertion }),
  response: Type.Object({ success, session }),
  errors: ['passkey_refused', 'passkeys_need_name', 'operator_password_off', 'operator_request_foreign'],
  handle: async ({ ctx, headers, address, body }) => {
    requireOwnOrigin(ctx, headers);
    const browser = browserOf(ctx, headers, address);
    return started(ctx, await signInOperator(ctx, await checkPasskeySignIn(ctx, body.passkey, browser), browser));
  },
});

/** Returns null instead of an error without a session: the page uses it to find out whether to show the sign-in form. */
export const sessionGet = endpoint({
  id: 'dashboard.session.get',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/session',
  auth: 'none',
  summary: 'Retrieve the current session',
  response: Type.Object({ success, session: nullable(session) }),
  handle: async ({ ctx, headers }) => {
    const token = readSessionCookie(ctx, headers);
    const operator = token === undefined ? undefined : await findCheckedSession(ctx, token, { active: false });
    return { success: true, session: token && operator ? describeSession(ctx, token, operator) : null };
  },
});

/** With a password, or with a passkey. */
export const sessionRenew = endpoint({
  id: 'dashboard.session.renew',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/session/renew',
  auth: 'operator',
  role: 'support',
  reach: 'own',
  while_pending: ['password', 'second_factor'],
  summary: 'Confirm your identity with your password or a passkey',
  body: Type.Object({ password: Type.Optional(password), code, passkey: Type.Optional(passkey_assertion) }),
  response: Type.Object({ success }),
  errors: [...password_errors, 'passkey_refused'],
  handle: async ({ ctx, headers, address, operator, body, recordInTransaction }) => {
    const { password, code, passkey } = body;
    if (password === undefined && !passkey)
      throw apiError('missing_field', { field: 'password' }, { field: 'password' });
    const given = { email: operator.email, password: password ?? '', code };
    const browser = browserOf(ctx, headers, address);
    const proof = passkey ? await checkPasskeySignIn(ctx, passkey, browser) : await checkPassword(ctx, given, browser);
    // The passkey belongs to another operator who uses the same browser.
    if (proof.operator_id !== operator.id) throw apiError('passkey_refused');
    await ctx.db.system.begin(async (tx) => {
      await renewSession(tx, readSessionCookie(ctx, headers) ?? '');
      await recordInTransaction(tx);
    });
    return { success: true };
  },
});

export const sessionDelete = endpoint({
  id: 'dashboard.session.delete',
  surface: 'dashboard',
  method: 'DELETE',
  path: '/dashboard/api/session',
  auth: 'operator',
  role: 'support',
  reach: 'own',
  while_pending: ['password', 'second_factor'],
  summary: 'Sign out',
  response: Type.Object({
    success,
    /** Where the browser goes to sign out at the identity provider too. */
    sign_out_url: nullable(Type.String()),
  }),
  handle: async ({ ctx, headers, operator }) => {
    await endSession(ctx.db.system, readSessionCookie(ctx, headers) ?? '');
    ctx.notifications.notify('chartwire_operators', operator.id);
    const sign_out_url = operator.single_sign_on ? await providerSignOutUrl(ctx) : null;
    return new WithHeaders({ success: true, sign_out_url }, { 'set-cookie': sessionCookie(ctx, '') });
  },
});

export function browserOf(ctx: Context, headers: IncomingHttpHeaders, address: string): Browser {
  return { address, user_agent: headers['user-agent'] ?? '', device: readDeviceCookie(ctx, headers) };
}

/** The response to a sign-in, with the cookies of the session and of the device. */
export async function started(ctx: Context, { token, device }: SignedIn): Promise<WithHeaders> {
  const operator = await findSession(ctx, token, { active: true });
  if (!operator) throw new Error('The session that was just created is missing.');
  return new WithHeaders(
    { success: true, session: describeSession(ctx, token, operator) },
    { 'set-cookie': [sessionCookie(ctx, token), deviceCookie(ctx, device)] },
  );
}

function describeSession(ctx: Context, token: string, operator: Operator): Session {
  const { id, email, name, role, all_clients, clients, may_reveal } = operator;
  const { totp, passkeys, recovery_codes, single_sign_on } = operator;
  return {
    operator: {
      ...{ id, email, name, role, all_clients, clients, may_reveal },
      ...{ totp, passkeys, recovery_codes, single_sign_on },
    },
    method: operator.method,
    pending_setup: pendingSetup(ctx.config, operator) ?? null,
    second_factor_required: ctx.config.operator_second_factor === 'required',
    csrf_token: csrfTokenOf(token),
    sandbox: ctx.config.sandbox,
    version,
  };
}
