import type { IncomingHttpHeaders } from 'node:http';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { operator_roles } from '../model/dashboard/roles.ts';
import { device_days } from '../operators/operatorDevices.ts';
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

/** Someone at an unattended browser must not be able to take over the account. */
export function requireFreshSignIn(endpoint: Endpoint, { fresh }: Operator): void {
  if (endpoint.fresh_sign_in && !fresh) throw apiError('operator_sign_in_again');
}

export function readSessionCookie(ctx: Pick<Context, 'config'>, headers: IncomingHttpHeaders): string | undefined {
  return readCookie(cookieFor(ctx, 'session').name, headers);
}

/** An empty token deletes the cookie. */
export function sessionCookie(ctx: Pick<Context, 'config'>, token: string): string {
  const { name, attributes } = cookieFor(ctx, 'session');
  const age = token === '' ? '; Max-Age=0' : '';
  return `${name}=${token}; ${attributes}; HttpOnly; SameSite=Strict${age}`;
}

export function readDeviceCookie(ctx: Pick<Context, 'config'>, headers: IncomingHttpHeaders): string | undefined {
  return readCookie(cookieFor(ctx, 'device').name, headers);
}

/** Outlives the session: it shows at the next sign-in that the operator has used this browser before. */
export function deviceCookie(ctx: Pick<Context, 'config'>, token: string): string {
  const { name, attributes } = cookieFor(ctx, 'device');
  return `${name}=${token}; ${attributes}; HttpOnly; SameSite=Strict; Max-Age=${device_days * 86_400}`;
}

function readCookie(name: string, headers: IncomingHttpHeaders): string | undefined {
  const pair = (headers.cookie ?? '').split(/; */).find((each) => each.startsWith(`${name}=`));
  return pair?.slice(name.length + 1) || undefined;
}

/** `__Host-` keeps other hosts of the same domain from setting the cookie. It requires https and the path `/`. */
function cookieFor(
  { config }: Pick<Context, 'config'>,
  kind: 'session' | 'device',
): { name: string; attributes: string } {
  return config.base_url.startsWith('https:')
    ? { name: `__Host-chartwire_${kind}`, attributes: 'Path=/; Secure' }
    : { name: `chartwire_${kind}`, attributes: 'Path=/dashboard' };
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
