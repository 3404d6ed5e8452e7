import type { IncomingHttpHeaders } from 'node:http';
import { findSession } from '../clients/operatorSessions.ts';
import type { Operator } from '../clients/operators.ts';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { operator_roles } from '../model/dashboard/roles.ts';
import { hashToken, sameHash } from '../security/hash.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * The operator of a session, by its cookie. What changes something must come from the dashboard's own page besides:
 * the browser says so (Origin), and so does the token that only that page was told.
 */
export async function authenticateOperator(
  ctx: Context,
  endpoint: Endpoint,
  headers: IncomingHttpHeaders,
): Promise<Operator> {
  const token = readSessionCookie(headers);
  if (token === undefined) throw apiError('operator_session_over');
  // Before the session is looked at: what another site sends must not keep it open either.
  if (endpoint.method !== 'GET') {
    refuseForeign(ctx, headers);
    const sent = headers['x-csrf-token'];
    if (typeof sent !== 'string' || !sameHash(Buffer.from(sent), Buffer.from(csrfTokenOf(token)))) {
      throw apiError('operator_request_foreign');
    }
  }
  // What the page fetches by itself is marked, and does not keep an unattended session open.
  const active = headers['x-background'] === undefined && !endpoint.background;
  const operator = await findSession(ctx, token, { active });
  if (!operator) throw apiError('operator_session_over');
  return operator;
}

/** Apart from who it is, so that a try to do what one may not is in the trail under one's name. */
export function refuseRole(endpoint: Endpoint, { role }: Operator): void {
  const needed = endpoint.role ?? (endpoint.method === 'GET' ? 'read_only' : 'operator');
  if (operator_roles.indexOf(role) < operator_roles.indexOf(needed)) {
    throw apiError('operator_role_lacking', { role: needed });
  }
}

const cookie_name = 'chartwire_session';

export function readSessionCookie(headers: IncomingHttpHeaders): string | undefined {
  const pair = (headers.cookie ?? '').split(/; */).find((each) => each.startsWith(`${cookie_name}=`));
  return pair?.slice(cookie_name.length + 1) || undefined;
}

/** Kept from scripts, from other sites' requests and from every path but the dashboard's. An empty token ends it. */
export function sessionCookie(ctx: Pick<Context, 'config'>, token: string): string {
  const secure = ctx.config.base_url.startsWith('https:') ? '; Secure' : '';
  const age = token === '' ? '; Max-Age=0' : '';
  return `${cookie_name}=${token}; Path=/dashboard; HttpOnly; SameSite=Strict${secure}${age}`;
}

/** Bound to its session and derived from what no script can read. */
export function csrfTokenOf(session_token: string): string {
  return hashToken(`csrf ${session_token}`).toString('base64url');
}

/** Browsers send Origin with everything but GET; a request without one is not from a page. */
export function refuseForeign(ctx: Pick<Context, 'config'>, headers: IncomingHttpHeaders): void {
  const { origin, host } = headers;
  const own = [new URL(ctx.config.base_url).origin, `http://${host}`, `https://${host}`];
  const site = headers['sec-fetch-site'];
  if (origin === undefined || !own.includes(origin) || (site !== undefined && site !== 'same-origin')) {
    throw apiError('operator_request_foreign');
  }
}
