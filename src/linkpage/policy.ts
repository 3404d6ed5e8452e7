import { contentSecurityPolicy } from '../http/pages.ts';

/**
 * Origins of this machine, which may frame Link in sandbox mode without being registered. Not [::1]: a policy cannot
 * name an IPv6 address, and browsers complain of it.
 */
const loopback_origins = ['http://localhost:*', 'http://127.0.0.1:*'];

/**
 * Whose pages may frame a client's Link. What is not exactly an origin is left out: the list becomes a header, and
 * nothing in it may end the directive.
 */
export function framingOrigins(registered: readonly string[], sandbox: boolean): string[] {
  const origins = registered.filter((origin) => URL.canParse(origin) && new URL(origin).origin === origin);
  return sandbox ? [...origins, ...loopback_origins] : origins;
}

/** A logo comes as data; who may frame the page differs from client to client. */
export function linkPolicy(frame_ancestors: readonly string[]): string {
  return contentSecurityPolicy({
    'img-src': "'self' data:",
    'frame-ancestors': frame_ancestors.length > 0 ? frame_ancestors.join(' ') : "'none'",
  });
}
