import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ApiError, apiError, type ErrorCode, errors } from '../../../catalog/errors.ts';
import { version } from '../../../catalog/version.ts';
import {
  deriveCsrfToken,
  deviceCookie,
  readCookie,
  readDeviceCookie,
  readSessionCookie,
  requireOwnOrigin,
  sessionCookie,
  setCookie,
} from '../../../http/auth/authenticateOperator.ts';
import { type Endpoint, endpoint, WithHeaders } from '../../../http/endpoint.ts';
import { nullable, secret, success } from '../../../model/fields.ts';
import type { Context } from '../../../product/context.ts';
import { findCheckedSession } from '../../../product/operators/checkedSessions.ts';
import { acceptInvitation } from '../../../product/operators/localAccounts.ts';
import { findInvitation } from '../../../product/operators/operatorInvitations.ts';
import { type Browser, endSession, findSession, renewSession } from '../../../product/operators/operatorSessions.ts';
import { type Operator, pendingSetup } from '../../../product/operators/operators.ts';
import { passkeySignInOptions } from '../../../product/operators/passkeys.ts';
import { checkPasskeySignIn, checkPassword, type SignedIn, signInOperator } from '../../../product/operators/signIn.ts';
import { finishSingleSignOn, providerSignOutUrl, startSingleSignOn } from '../../../product/operators/singleSignOn.ts';
import { open_invitation, passkey_assertion, type Session, session } from './schema.ts';

const password = secret({ maxLength: 1000 });
const code = Type.Optional(secret({ maxLength: 40 }));
const invitation_token = secret({ maxLength: 100 });
const password_errors = [
  'operator_credentials_wrong',
  'operator_code_required',
  'operator_code_wrong',
  'operator_passkey_required',
  'operator_locked',
  'operator_password_off',
  'operator_inactive',
] as const;

export const sign_in_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.session.create',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/session',
    auth: 'none',
    // A password check takes 20 ms of a core and 19 MiB.
    cost: 25,
    summary: 'Sign in',
    body: Type.Object({ email: Type.String({ maxLength: 320 }), password, code }),
    response: Type.Object({ success, session }),
    errors: [...password_errors, 'operator_request_foreign'],
    handle: async ({ ctx, headers, address, body }) => {
      requireOwnOrigin(ctx, headers);
      const browser = readBrowser(ctx, headers, address);
      return started(ctx, await signInOperator(ctx, await checkPassword(ctx, body, browser), browser));
    },
  }),
  // Returns null instead of an error without a session: the page uses it to find out whether to show the sign-in form.
  endpoint({
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
  }),
  endpoint({
    id: 'dashboard.session.passkey-options',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/session/passkey-options',
    auth: 'none',
    // It stores a row for five minutes.
    cost: 5,
    summary: 'Start a sign-in with a passkey',
    body: Type.Object({}),
    response: Type.Object({ success, options: Type.Unknown() }),
    errors: ['passkeys_need_name', 'operator_request_foreign'],
    handle: async ({ ctx, headers }) => {
      requireOwnOrigin(ctx, headers);
      return { success: true, options: await passkeySignInOptions(ctx) };
    },
  }),
  endpoint({
    id: 'dashboard.session.passkey',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/session/passkey',
    auth: 'none',
    cost: 5,
    summary: 'Sign in with a passkey',
    body: Type.Object({ passkey: passkey_assertion }),
    response: Type.Object({ success, session }),
    errors: [
      'passkey_refused',
      'passkeys_need_name',
      'operator_password_off',
      'operator_inactive',
      'operator_request_foreign',
    ],
    handle: async ({ ctx, headers, address, body }) => {
      requireOwnOrigin(ctx, headers);
      const browser = readBrowser(ctx, headers, address);
      return started(ctx, await signInOperator(ctx, await checkPasskeySignIn(ctx, body.passkey, browser), browser));
    },
  }),
  // With a password, or with a passkey.
  endpoint({
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
      const password_proof = { email: operator.email, password: password ?? '', code };
      const browser = readBrowser(ctx, headers, address);
      const proof = passkey
        ? await checkPasskeySignIn(ctx, passkey, browser)
        : await checkPassword(ctx, password_proof, browser);
      // The passkey belongs to another operator who uses the same browser.
      if (proof.operator_id !== operator.id) throw apiError('passkey_refused');
      await ctx.db.system.begin(async (tx) => {
        await renewSession(tx, readSessionCookie(ctx, headers) ?? '');
        await recordInTransaction(tx);
      });
      return { success: true };
    },
  }),
  endpoint({
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
  }),
  endpoint({
    id: 'dashboard.sign-in.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/sign-in',
    // The error is shown once.
    head: false,
    auth: 'none',
    summary: 'List the ways to sign in, and why the last single sign-on failed',
    response: Type.Object({
      success,
      /** The text of the button; null if single sign-on is not set up. */
      single_sign_on: nullable(Type.String()),
      passwords: Type.Boolean(),
      error: nullable(Type.String()),
    }),
    handle: async ({ ctx, headers }) => {
      const { oidc_label, oidc_only } = ctx.config;
      const code = readCookie(ctx, headers, 'sign_in_error') ?? '';
      const response = {
        success: true,
        single_sign_on: ctx.identity_provider ? oidc_label : null,
        passwords: !oidc_only,
        error: Object.hasOwn(errors, code) ? errors[code as ErrorCode].message : null,
      };
      return code === '' ? response : new WithHeaders(response, { 'set-cookie': setCookie(ctx, 'sign_in_error', '') });
    },
  }),
  endpoint({
    id: 'dashboard.single-sign-on.start',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/single-sign-on',
    auth: 'none',
    // Each leaves a row in the database for 10 minutes, and allows one request to the provider.
    cost: 10,
    summary: 'Start a sign-in at the identity provider',
    body: Type.Object({
      /** The page to return to. */
      path: Type.String({ maxLength: 500, pattern: '^/dashboard(/[\\w-]+)*$' }),
    }),
    response: Type.Object({ success, url: Type.String() }),
    errors: ['sso_off', 'sso_unavailable', 'sso_invalid', 'operator_request_foreign'],
    handle: async ({ ctx, headers, body }) => {
      requireOwnOrigin(ctx, headers);
      const { url, browser } = await startSingleSignOn(ctx, body.path);
      return new WithHeaders({ success: true, url }, { 'set-cookie': setCookie(ctx, 'sso', browser) });
    },
  }),
  // The page returns to `/dashboard/confirmed`, in the window that the dashboard has opened.
  endpoint({
    id: 'dashboard.single-sign-on.renew',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/single-sign-on/renew',
    auth: 'operator',
    role: 'support',
    reach: 'own',
    summary: 'Confirm your identity at the identity provider, which asks you to sign in again',
    body: Type.Object({}),
    response: Type.Object({ success, url: Type.String() }),
    errors: ['sso_off', 'sso_unavailable', 'sso_invalid'],
    handle: async ({ ctx, headers }) => {
      const { url, browser } = await startSingleSignOn(ctx, '/dashboard/confirmed', readSessionCookie(ctx, headers));
      return new WithHeaders({ success: true, url }, { 'set-cookie': setCookie(ctx, 'sso', browser) });
    },
  }),
  // A POST, because the token must not appear in a URL that servers see.
  endpoint({
    id: 'dashboard.invitations.find',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/invitations/find',
    auth: 'none',
    summary: 'Retrieve what an invitation is for',
    body: Type.Object({ token: invitation_token }),
    response: Type.Object({ success, ...open_invitation }),
    errors: ['invitation_invalid', 'operator_request_foreign'],
    handle: async ({ ctx, headers, body }) => {
      requireOwnOrigin(ctx, headers);
      const invitation = await findInvitation(ctx.db.system, body.token);
      if (invitation === undefined) throw apiError('invitation_invalid');
      const { email, inviter_name, role } = invitation;
      const second_factor = ctx.config.operator_second_factor === 'required';
      return { success: true, email, inviter_name, role, second_factor };
    },
  }),
  endpoint({
    id: 'dashboard.invitations.accept',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/invitations/accept',
    auth: 'none',
    // Hashing a password takes 20 ms of a core and 19 MiB.
    cost: 25,
    summary: 'Accept an invitation with a name and a password, and sign in',
    body: Type.Object({
      token: invitation_token,
      name: Type.String({ minLength: 1, maxLength: 100 }),
      password,
    }),
    response: Type.Object({ success, session }),
    errors: ['invitation_invalid', 'invalid_field', 'operator_exists', 'operator_request_foreign', 'passwords_off'],
    handle: async ({ ctx, headers, address, body }) => {
      requireOwnOrigin(ctx, headers);
      if (ctx.config.oidc_only) throw apiError('passwords_off');
      const accepted = await acceptInvitation(ctx, body, (tx, { id, invitation_id, email }) =>
        ctx.audit.recordInTransaction(tx, {
          client_id: null,
          actor_kind: 'operator',
          actor: email,
          action: 'operator.accept_invitation',
          outcome: 'created',
          subject: id,
          address,
          detail: { invitation: invitation_id },
        }),
      );
      if (!accepted) throw apiError('invitation_invalid');
      const browser = readBrowser(ctx, headers, address);
      return started(ctx, await signInOperator(ctx, { ...accepted, method: 'password' }, browser));
    },
  }),
];

/**
 * Receives the browser from the identity provider. It always goes on to a page of the dashboard, so that the URL with the
 * authorization code is not in the browser's history; the page then shows what went wrong.
 */
export async function finishSignIn(ctx: Context, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const [, query = ''] = request.url.split('?', 2);
  const used = setCookie(ctx, 'sso', '');
  try {
    const state_cookie = readCookie(ctx, request.headers, 'sso');
    const browser = readBrowser(ctx, request.headers, request.ip);
    const { path, token, refused } = await finishSingleSignOn(ctx, { query, state_cookie }, browser);
    const session = token === undefined ? [] : [setCookie(ctx, 'session', token)];
    const error = refused ? [setCookie(ctx, 'sign_in_error', refused.code)] : [];
    return reply.header('set-cookie', [used, ...session, ...error]).redirect(path);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return reply.header('set-cookie', [used, setCookie(ctx, 'sign_in_error', error.code)]).redirect('/dashboard');
  }
}

function readBrowser(ctx: Context, headers: IncomingHttpHeaders, address: string): Browser {
  return { address, user_agent: headers['user-agent'] ?? '', device: readDeviceCookie(ctx, headers) };
}

/** The response to a sign-in, with the cookies of the session and of the device. */
async function started(ctx: Context, { token, device }: SignedIn): Promise<WithHeaders> {
  const operator = await findSession(ctx, token, { active: true });
  if (!operator) throw new Error('The session that was just created is missing.');
  return new WithHeaders(
    { success: true, session: describeSession(ctx, token, operator) },
    { 'set-cookie': [sessionCookie(ctx, token), deviceCookie(ctx, device)] },
  );
}

function describeSession(ctx: Context, token: string, operator: Operator): Session {
  const { id, email, name, role, all_clients, clients, may_reveal, may_see_disclosures, may_hold } = operator;
  const { totp, passkeys, recovery_codes, single_sign_on } = operator;
  return {
    operator: {
      ...{ id, email, name, role, all_clients, clients, may_reveal, may_see_disclosures, may_hold },
      ...{ totp, passkeys, recovery_codes, single_sign_on },
    },
    method: operator.method,
    pending_setup: pendingSetup(ctx.config, operator) ?? null,
    second_factor_required: ctx.config.operator_second_factor === 'required',
    four_eyes: ctx.config.four_eyes.length > 0,
    csrf_token: deriveCsrfToken(token),
    sandbox: ctx.config.sandbox,
    version,
  };
}
