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

/** The page runs its own files, calls its own origin, shows a logo that came as data; nothing else, nothing inline. */
export function contentSecurityPolicy(frame_ancestors: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frame_ancestors.length > 0 ? frame_ancestors.join(' ') : "'none'"}`,
    "require-trusted-types-for 'script'",
  ].join('; ');
}
