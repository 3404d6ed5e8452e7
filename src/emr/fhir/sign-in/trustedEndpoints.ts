import { parseUrl } from '../../../catalog/parseUrl.ts';
import { type EmrEndpoint, EmrFailure, type EmrFailureKind } from '../../connector.ts';
import { type EndpointPins, first_segment, isPinned, isSameHost, matchHost, same_host } from '../../endpointPins.ts';
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
    refusalOf(endpoint, 'token endpoint', pins?.token_endpoint, authority.token_endpoint) ??
    (page
      ? refusalOf(endpoint, 'sign-in page', pins?.authorization_endpoint, authority.authorization_endpoint ?? '')
      : undefined);
  if (reason !== undefined) throw new EmrFailure(kind, reason);
}

/** The endpoint that the server names and an EMR app does not allow, if there is one. */
export function unexpectedEndpoint(endpoint: EmrEndpoint, authority: AuthorizationServer): string | undefined {
  const { address, pins } = endpoint;
  if (!pins) return undefined;
  const { token_endpoint, authorization_endpoint } = authority;
  if (!isPinned(pins.token_endpoint, address, token_endpoint, pins.tenant_path)) return describe(token_endpoint);
  const pin = pins.authorization_endpoint;
  if (pin === null || authorization_endpoint === undefined) return undefined;
  return isPinned(pin, address, authorization_endpoint, pins.tenant_path)
    ? undefined
    : describe(authorization_endpoint);
}

/**
 * Whether a token may be revoked there. The request contains the token and the client's credentials, so the endpoint
 * must be on the origin of the token endpoint, below its folder. If an EMR app pins the token endpoint, it must be in the
 * same folder; in the root folder only if the FHIR server is on another host, because there `/evil` may be a tenant.
 */
export function isTrustedRevocation(
  { address, pins }: Pick<EmrEndpoint, 'address' | 'pins'>,
  { token_endpoint, revocation_endpoint }: Pick<AuthorizationServer, 'token_endpoint' | 'revocation_endpoint'>,
): boolean {
  const [token, revocation] = [parseUrl(token_endpoint), parseUrl(revocation_endpoint ?? '')];
  if (!token || !revocation || token.origin !== revocation.origin) return false;
  const folder = token.pathname.replace(/[^/]*$/, '');
  if (!revocation.pathname.startsWith(folder)) return false;
  if (!pins || pins.token_endpoint === same_host) return true;
  const is_adjacent = /^[A-Za-z0-9._~-]+$/.test(revocation.pathname.slice(folder.length)) && revocation.search === '';
  return is_adjacent && (folder !== '/' || !isSameHost(new URL(address), token));
}

/** Throws if the server names a revocation endpoint that nothing may be sent to. */
export function requireTrustedRevocation(endpoint: EmrEndpoint, authority: AuthorizationServer): void {
  if (isTrustedRevocation(endpoint, authority)) return;
  const named = `The server names the revocation endpoint ${describe(authority.revocation_endpoint ?? '')}`;
  const message = `${named}, which is not next to its token endpoint. No token was revoked.`;
  throw new EmrFailure('refused', message, { not_offered: true });
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
  { address, pins }: EmrEndpoint,
  what: string,
  pin: string | null | undefined,
  endpoint: string,
): string | undefined {
  if (isPinned(pin ?? same_host, address, endpoint, pins?.tenant_path)) return undefined;
  const named = `The server names the ${what} ${describe(endpoint)}`;
  if (pin === undefined) {
    return `${named}, which is not on its own host. Ask an owner to add an EMR app with this ${what}. Nothing was sent.`;
  }
  return `${named}, but the EMR app allows ${describePin(pin, address, pins)}. Nothing was sent.`;
}

function describePin(pin: string | null, address: string, pins: EndpointPins | undefined): string {
  if (pin === null || pin === same_host) return `only hosts equal to ${new URL(address).host}`;
  if (!pin.includes('{tenant}')) return pin;
  return `${pin}, with the tenant at ${pins?.tenant_path ?? first_segment} in the EMR's address`;
}

/** As shown to people: without a query, and not longer than a line. */
function describe(endpoint: string): string {
  const url = parseUrl(endpoint);
  return url ? `${url.origin}${url.pathname}`.slice(0, 200) : '(none)';
}
