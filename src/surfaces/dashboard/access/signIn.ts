import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ApiError, type ErrorCode, errors } from '../../../catalog/errors.ts';
import { readCookie, readSessionCookie, requireOwnOrigin, setCookie } from '../../../http/auth/authenticateOperator.ts';
import { endpoint, WithHeaders } from '../../../http/endpoint.ts';
import { nullable, success } from '../../../model/fields.ts';
import type { Context } from '../../../product/context.ts';
import { finishSingleSignOn, startSingleSignOn } from '../../../product/operators/singleSignOn.ts';
import { browserOf } from './session.ts';

export const signInGet = endpoint({
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
});

export const singleSignOnStart = endpoint({
  id: 'dashboard.single-sign-on.start',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/single-sign-on',
  auth: 'none',
  // Each leaves a row in the database for 10 minutes, and allows one request to the provider.
  address_cost: 10,
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
});

/** The page returns to `/dashboard/confirmed`, in the window that the dashboard has opened. */
export const singleSignOnRenew = endpoint({
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
});

/**
 * Receives the browser from the identity provider. It always goes on to a page of the dashboard, so that the URL with the
 * authorization code is not in the browser's history; the page then shows what went wrong.
 */
export async function finishSignIn(ctx: Context, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const [, query = ''] = request.url.split('?', 2);
  const used = setCookie(ctx, 'sso', '');
  try {
    const state_cookie = readCookie(ctx, request.headers, 'sso');
    const browser = browserOf(ctx, request.headers, request.ip);
    const { path, token, refused } = await finishSingleSignOn(ctx, { query, state_cookie }, browser);
    const session = token === undefined ? [] : [setCookie(ctx, 'session', token)];
    const error = refused ? [setCookie(ctx, 'sign_in_error', refused.code)] : [];
    return reply.header('set-cookie', [used, ...session, ...error]).redirect(path);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return reply.header('set-cookie', [used, setCookie(ctx, 'sign_in_error', error.code)]).redirect('/dashboard');
  }
}
