import type { IncomingHttpHeaders } from 'node:http';
import type { Context } from '../../product/context.ts';
import { device_days } from '../../product/operators/signIn.ts';

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
  const { full_name, scope } = placementOf(ctx, name);
  const attributes = value === '' ? `${cookies[name].replace(/; Max-Age=\d+/, '')}; Max-Age=0` : cookies[name];
  return `${full_name}=${value}; ${scope}; ${attributes}`;
}

export function readCookie(
  ctx: Pick<Context, 'config'>,
  headers: IncomingHttpHeaders,
  name: CookieName,
): string | undefined {
  const { full_name } = placementOf(ctx, name);
  const pair = (headers.cookie ?? '').split(/; */).find((each) => each.startsWith(`${full_name}=`));
  return pair?.slice(full_name.length + 1) || undefined;
}

/** `__Host-` keeps other hosts of the same domain from setting the cookie. It requires https and the path `/`. */
function placementOf({ config }: Pick<Context, 'config'>, name: CookieName): { full_name: string; scope: string } {
  return config.base_url.startsWith('https:')
    ? { full_name: `__Host-chartwire_${name}`, scope: 'Path=/; Secure' }
    : { full_name: `chartwire_${name}`, scope: 'Path=/dashboard' };
}
