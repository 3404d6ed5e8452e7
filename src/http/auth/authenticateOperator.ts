import type { IncomingHttpHeaders } from 'node:http';
import { apiError } from '../../catalog/errors.ts';
import type { OperatorRole } from '../../catalog/roles.ts';
import type { ClientScope } from '../../platform/db/fragments.ts';
import { hashToken, sameHash } from '../../platform/security/signatures.ts';
import type { Client } from '../../product/clients/clients.ts';
import type { Context } from '../../product/context.ts';
import { findCheckedSession } from '../../product/operators/checkedSessions.ts';
import { clientsWith } from '../../product/operators/operatorAccess.ts';
import { type Operator, pendingSetup } from '../../product/operators/operators.ts';
import { device_days } from '../../product/operators/signIn.ts';
import type { Endpoint } from '../endpoint.ts';

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
    if (typeof sent !== 'string' || !sameHash(Buffer.from(sent), Buffer.from(deriveCsrfToken(token)))) {
      throw apiError('operator_request_foreign');
    }
  }
  // Background requests of the page do not extend the session of an absent operator.
  const active = headers['x-background'] === undefined && !endpoint.background;
  const operator = await findCheckedSession(ctx, token, { active });
  if (!operator) throw apiError('operator_session_over');
  return operator;
}

/**
 * Checks the operator's role and returns the clients in which it suffices. Separate from authentication, so that the
 * audit log records a denied request under the operator's name.
 */
export function requireRole(endpoint: Endpoint, operator: Operator, client: Client | undefined): ClientScope {
  const { reach = 'installation' } = endpoint;
  const required = requiredRole(endpoint);
  const scope = clientsWith(operator, required);
  if (client ? scope === 'all' || scope.includes(client.id) : reach === 'own') return scope;
  if (client || (scope.length === 0 && required !== 'support'))
    throw apiError('operator_role_lacking', { role: required.replace('_', '-') });
  if (reach === 'installation' && scope !== 'all') throw apiError('operator_clients_lacking');
  return scope;
}

export function requiredRole({ role, method }: Endpoint): OperatorRole {
  return role ?? (method === 'GET' ? 'support' : 'operator');
}

const pending_errors = {
  password: 'operator_password_temporary',
  second_factor: 'operator_second_factor_missing',
} as const;

/** An operator who must change a temporary password or set up a second factor may only do that. */
export function requireSetup(ctx: Pick<Context, 'config'>, endpoint: Endpoint, operator: Operator): void {
  const pending = pendingSetup(ctx.config, operator);
  if (pending === undefined || endpoint.while_pending?.includes(pending)) return;
  throw apiError(pending_errors[pending]);
}

/** Someone at an unattended browser must not be able to take over the account or the installation. */
export function requireFreshSignIn(endpoint: Endpoint, { fresh, method }: Operator): void {
  if (endpoint.local_sign_in && method === 'single_sign_on') throw apiError('operator_single_sign_on');
  if (endpoint.fresh_sign_in && !fresh) throw apiError('operator_sign_in_again');
}

export function readSessionCookie(ctx: Pick<Context, 'config'>, headers: IncomingHttpHeaders): string | undefined {
  return readCookie(ctx, headers, 'session');
}

/** An empty token deletes the cookie. */
export function sessionCookie(ctx: Pick<Context, 'config'>, token: string): string {
  return setCookie(ctx, 'session', token);
}

export function readDeviceCookie(ctx: Pick<Context, 'config'>, headers: IncomingHttpHeaders): string | undefined {
  return readCookie(ctx, headers, 'device');
}

/** Outlives the session: it shows at the next sign-in that the operator has used this browser before. */
export function deviceCookie(ctx: Pick<Context, 'config'>, token: string): string {
  return setCookie(ctx, 'device', token);
}

/** Derived from the session token, which no script can read. */
export function deriveCsrfToken(session_token: string): string {
  return hashToken(`csrf ${session_token}`).toString('base64url');
}

/**
 * Browsers send Origin with every method but GET, so a request without it does not come from a page. The Host header is
 * chosen by the caller, so only the sandbox trusts it: there, pages are opened by several names of this machine.
 */
export function requireOwnOrigin(ctx: Pick<Context, 'base_url' | 'config'>, headers: IncomingHttpHeaders): void {
  const { origin, host } = headers;
  const own = [new URL(ctx.base_url).origin, ...(ctx.config.sandbox ? [`http://${host}`, `https://${host}`] : [])];
  const site = headers['sec-fetch-site'];
  if (origin === undefined || !own.includes(origin) || (site !== undefined && site !== 'same-origin')) {
    throw apiError('operator_request_foreign');
  }
}

/**
 * The cookies of the dashboard. `sso` names the browser that has gone to the identity provider; only Lax cookies are sent
 * when a browser returns from another site. `sign_in_error` is the code of an error to show once on the sign-in page.
 */
const cookies = {
  session: 'HttpOnly; SameSite=Strict',
  device: `HttpOnly; SameSite=Strict; Max-Age=${device_days * 86_400}`,
  sso: 'HttpOnly; SameSite=Lax; Max-Age=600',
  sign_in_error: 'HttpOnly; SameSite=Strict; Max-Age=600',
} as const;
export type CookieName = keyof typeof cookies;

/** A `set-cookie` header. An empty value deletes the cookie. */
export function setCookie(ctx: Pick<Context, 'config'>, name: CookieName, value: string): string {
  const { full_name, scope } = placeCookie(ctx, name);
  const attributes = value === '' ? `${cookies[name].replace(/; Max-Age=\d+/, '')}; Max-Age=0` : cookies[name];
  return `${full_name}=${value}; ${scope}; ${attributes}`;
}

export function readCookie(
  ctx: Pick<Context, 'config'>,
  headers: IncomingHttpHeaders,
  name: CookieName,
): string | undefined {
  const { full_name } = placeCookie(ctx, name);
  const pair = (headers.cookie ?? '').split(/; */).find((each) => each.startsWith(`${full_name}=`));
  return pair?.slice(full_name.length + 1) || undefined;
}

/** `__Host-` keeps other hosts of the same domain from setting the cookie. It requires https and the path `/`. */
function placeCookie({ config }: Pick<Context, 'config'>, name: CookieName): { full_name: string; scope: string } {
  return config.base_url.startsWith('https:')
    ? { full_name: `__Host-chartwire_${name}`, scope: 'Path=/; Secure' }
    : { full_name: `chartwire_${name}`, scope: 'Path=/dashboard' };
}
