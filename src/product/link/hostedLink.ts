/**
 * The URL of the hosted page for a link token. The token is in the fragment, which browsers do not send: it reaches no
 * access log, proxy or referrer.
 */
export function hostedLink(base_url: string, link_token: string): string {
  return `${base_url.replace(/\/+$/, '')}/link#token=${encodeURIComponent(link_token)}`;
}
