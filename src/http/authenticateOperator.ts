import type { IncomingHttpHeaders } from 'node:http';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { operator_roles } from '../model/dashboard/roles.ts';
import { findSession } from '../operators/operatorSessions.ts';
import { type Operator, pendingSetup } from '../operators/operators.ts';
import { hashToken, sameHash } from '../security/hash.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * Finds the operator by the session cookie. A request that changes something must also come from the dashboard's own
 * page: it needs our Origin and the CSRF token.
 */
export async function authenticateOperator(
  ctx: Context,
  endpoint: Endpoint,
  headers: IncomingHttpHeaders,
): Promise<Operator> {
  const token = readSessionCookie(ctx, headers);
  if (token === undefined) throw apiError('operator_session_over');
  // Checked before the session is read: a request from another site must not extend it.
  if (endpoint.method !== 'GET') {
    requireOwnOrigin(ctx, headers);
    const sent = headers['x-csrf-token'];
    if (typeof sent !== 'string' || !sameHash(Buffer.from(sent), Buffer.from(csrfTokenOf(token)))) {
      throw apiError('operator_request_foreign');
    }
  }
  // Background requests of the page do not extend the session of an absent operator.
  const active = headers['x-background'] === undefined && !endpoint.background;
  const operator = await findSession(ctx, token, { active });
  if (!operator) throw apiError('operator_session_over');
  return operator;
}

/** Separate from authentication, so that the audit log records a denied request under the operator's name. */
export function requireRole(endpoint: Endpoint, { role }: Operator): void {
  const required = endpoint.role ?? (endpoint.method === 'GET' ? 'read_only' : 'operator');
  if (operator_roles.indexOf(role) < operator_roles.indexOf(required)) {
    throw apiError('operator_role_lacking', { role: required });
  }
}

/** An operator who must change a temporary password first may only do that. */
export function requireSetup(endpoint: Endpoint, operator: Operator): void {
  const pending = pendingSetup(operator);
  if (pending === undefined || endpoint.while_pending?.includes(pending)) return;
  throw apiError('operator_password_temporary');
}

export function readSessionCookie(ctx: Pick<Context, 'config'>, headers: IncomingHttpHeaders): string | undefined {
  const { name } = cookieFor(ctx);
  const pair = (headers.cookie ?? '').split(/; */).find((each) => each.startsWith(`${name}=`));
  return pair?.slice(name.length + 1) || undefined;
}

/** An empty token deletes the cookie. */
export function sessionCookie(ctx: Pick<Context, 'config'>, token: string): string {
  const { name, attributes } = cookieFor(ctx);
  const age = token === '' ? '; Max-Age=0' : '';
  return `${name}=${token}; ${attributes}; HttpOnly; SameSite=Strict${age}`;
}

/** `__Host-` keeps other hosts of the same domain from setting the cookie. It requires https and the path `/`. */
function cookieFor({ config }: Pick<Context, 'config'>): { name: string; attributes: string } {
  return config.base_url.startsWith('https:')
    ? { name: '__Host-chartwire_session', attributes: 'Path=/; Secure' }
    : { name: 'chartwire_session', attributes: 'Path=/dashboard' };
}

/** Derived from the session token, which no script can read. */
export function csrfTokenOf(session_token: string): string {
  return hashToken(`csrf ${session_token}`).toString('base64url');
}

/** Browsers send Origin with every method but GET, so a request without it does not come from a page. */
export function requireOwnOrigin(ctx: Pick<Context, 'config'>, headers: IncomingHttpHeaders): void {
  const { origin, host } = headers;
  const own = [new URL(ctx.config.base_url).origin, `http://${host}`, `https://${host}`];
  const site = headers['sec-fetch-site'];
  if (origin === undefined || !own.includes(origin) || (site !== undefined && site !== 'same-origin')) {
    throw apiError('operator_request_foreign');
  }
}
