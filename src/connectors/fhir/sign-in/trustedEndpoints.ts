import { parseUrl } from '../../../parseUrl.ts';
import { type EmrEndpoint, EmrFailure, type EmrFailureKind } from '../../connector.ts';
import { isPinned, isSameHost, matchHost, same_host } from '../../endpointPins.ts';
import type { AuthorizationServer } from './discover.ts';

/**
 * Throws unless secrets, signed assertions, codes and people may be sent to this authorization server. Its metadata come
 * from the FHIR server, which may be hostile and name the endpoints of another EMR: without an EMR app, everything must
 * be on the FHIR server's own host; with one, it must be what the owner configured.
 */
export function requireTrusted(
  endpoint: EmrEndpoint,
  authority: AuthorizationServer,
  { page = false, kind = 'refused' }: { page?: boolean; kind?: EmrFailureKind } = {},
): void {
  const { address, pins } = endpoint;
  const { host } = new URL(address);
  if (pins && !matchHost(pins.hosts, address)) {
    throw new EmrFailure(kind, `The EMR app is not configured for the host ${host}. Nothing was sent.`);
  }
  const reason =
    refusalOf(address, 'token endpoint', pins?.token_endpoint, authority.token_endpoint) ??
    (page
      ? refusalOf(address, 'sign-in page', pins?.authorization_endpoint, authority.authorization_endpoint ?? '')
      : undefined);
  if (reason !== undefined) throw new EmrFailure(kind, reason);
}

/** The endpoint that the server names and an EMR app does not allow, if there is one. */
export function unexpectedEndpoint(endpoint: EmrEndpoint, authority: AuthorizationServer): string | undefined {
  const { address, pins } = endpoint;
  if (!pins) return undefined;
  const { token_endpoint, authorization_endpoint } = authority;
  if (!isPinned(pins.token_endpoint, address, token_endpoint)) return describe(token_endpoint);
  const pin = pins.authorization_endpoint;
  if (pin === null || authorization_endpoint === undefined) return undefined;
  return isPinned(pin, address, authorization_endpoint) ? undefined : describe(authorization_endpoint);
}

/**
 * Whether a token may be revoked there. The request contains the token and the client's credentials, so the endpoint
 * must be next to the token endpoint: on the same origin, in the same folder.
 */
export function isTrustedRevocation({ token_endpoint, revocation_endpoint }: AuthorizationServer): boolean {
  const [token, revocation] = [parseUrl(token_endpoint), parseUrl(revocation_endpoint ?? '')];
  if (!token || !revocation || token.origin !== revocation.origin) return false;
  return revocation.pathname.startsWith(token.pathname.replace(/[^/]*$/, ''));
}

/**
 * Throws if the response of a sign-in page comes from another authorization server than the one that the person was
 * sent to (RFC 9207). Without an issuer that belongs to the page's host, its origin is compared.
 */
export function requireIssuer(
  { pins }: EmrEndpoint,
  { issuer, authorization_endpoint = '', sends_issuer }: AuthorizationServer,
  returned: URL,
): void {
  const named = returned.searchParams.getAll('iss');
  if (named.length === 0 && !sends_issuer) return;
  const page = parseUrl(authorization_endpoint);
  const published = parseUrl(issuer ?? '');
  const expected = pins?.issuer ?? (page && published && isSameHost(page, published) ? issuer : undefined);
  const [iss] = named;
  const matches =
    named.length === 1 &&
    iss !== undefined &&
    (expected === undefined ? page !== undefined && parseUrl(iss)?.origin === page.origin : iss === expected);
  if (!matches) {
    throw new EmrFailure('refused', 'The response came from another server than the sign-in page. Nothing was sent.');
  }
}

function refusalOf(
  address: string,
  what: string,
  pin: string | null | undefined,
  endpoint: string,
): string | undefined {
  if (isPinned(pin ?? same_host, address, endpoint)) return undefined;
  const named = `The server names the ${what} ${describe(endpoint)}`;
  if (pin === undefined) {
    return `${named}, which is not on its own host. Ask an owner to add an EMR app with this ${what}. Nothing was sent.`;
  }
  const allowed = pin === null || pin === same_host ? `only hosts equal to ${new URL(address).host}` : pin;
  return `${named}, but the EMR app allows ${allowed}. Nothing was sent.`;
}

/** As shown to people: without a query, and not longer than a line. */
function describe(endpoint: string): string {
  const url = parseUrl(endpoint);
  return url ? `${url.origin}${url.pathname}`.slice(0, 200) : '(none)';
}
