import type * as fhir from 'fhir/r4.js';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { OutboundFailure } from '../../../platform/security/outbound.ts';
import type { EmrEndpoint } from '../../connector.ts';
import { noResponse, parseResponse, response_limits } from '../../emrCalls.ts';
import { EmrFailure, type EmrFailureKind } from '../../emrFailure.ts';
import { type EndpointPins, first_segment, isPinned, isSameHost, matchHost, same_host } from '../../endpointPins.ts';
import { call, type FhirResponse, isBelowBase } from '../transport/call.ts';
import { buildUrl } from '../transport/server.ts';

/** An authorization server. Stored in the grant, so that a renewal does not need discovery. */
export type AuthorizationServer = {
  token_endpoint: string;
  authorization_endpoint?: string | undefined;
  /** RFC 7009. */
  revocation_endpoint?: string | undefined;
  /** Absent if the server does not publish its issuer. */
  issuer?: string | undefined;
  /** Whether responses of the sign-in page always name the issuer (RFC 9207). */
  sends_issuer?: boolean | undefined;
  /** Absent lists: the server does not say. */
  scopes?: string[] | undefined;
  auth_methods?: string[] | undefined;
  grant_types?: string[] | undefined;
  /** http://hl7.org/fhir/smart-app-launch/conformance.html#capabilities */
  smart_capabilities?: string[] | undefined;
  /** Algorithms for client assertions. */
  algorithms?: string[] | undefined;
  /** How the secret was sent when the server accepted it. Not tried again otherwise. */
  secret_method?: SecretMethod | undefined;
  /** The scopes of a service that the server accepted. Others are not tried again. */
  scope?: string | undefined;
  /** The server grants a service what it is registered for, and only if no scope is named. */
  unscoped?: boolean | undefined;
};
export type SecretMethod = 'client_secret_basic' | 'client_secret_post';

/** The server's capability statement. `closed`: it requires a token. */
export type Statement = { statement: fhir.CapabilityStatement } | { closed: true };

/** Reads the capability statement. Fails if this is not a FHIR server, because it must not receive a secret. */
export async function readCapabilityStatement(endpoint: EmrEndpoint, access_token?: string): Promise<Statement> {
  const url = buildUrl(new URL(endpoint.address), 'metadata');
  // With a token, this was a FHIR server when the token was issued: the page is a proxy's, and temporary.
  const returns_404_page = access_token === undefined;
  const response = await call(endpoint, { method: 'GET', url, returns: 'statement', returns_404_page }, access_token);
  if (access_token === undefined && (response.status === 401 || response.status === 403)) return { closed: true };
  return { statement: requireStatement(response) };
}

export function requireStatement({ status, resource }: FhirResponse): fhir.CapabilityStatement {
  if (status !== 200 || resource?.resourceType !== 'CapabilityStatement') {
    throw new EmrFailure('refused', 'There is no FHIR server at this address.', { wrong_address: true });
  }
  const version = typeof resource.fhirVersion === 'string' ? resource.fhirVersion.slice(0, 20) : 'unknown';
  if (!/^4\.0(\.|$)/.test(version)) {
    const message = `The server uses FHIR ${version}. FHIR R4 (4.0) is required.`;
    throw new EmrFailure('refused', message, { wrong_address: true });
  }
  return resource;
}

/** Tries the SMART configuration, the capability statement, then the OpenID Connect and OAuth documents. */
export async function discoverAuthorization(endpoint: EmrEndpoint, stated: Statement): Promise<AuthorizationServer> {
  const smart = await readSmartConfiguration(endpoint);
  if (smart) return smart;
  const in_statement = 'statement' in stated ? readOauthUris(stated.statement) : undefined;
  if (in_statement) return in_statement;
  const base = endpoint.address.replace(/\/$/, '');
  const { origin, pathname } = new URL(base);
  const path = pathname === '/' ? '' : pathname;
  for (const address of [
    `${base}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration`,
  ]) {
    const authority = await readDocument(endpoint, address);
    if (authority) return authority;
  }
  throw new EmrFailure('refused', 'The server does not publish its token endpoint. Use a bearer token instead.');
}

/** The SMART configuration alone, without reading the whole capability statement. */
export function readSmartConfiguration(endpoint: EmrEndpoint): Promise<AuthorizationServer | undefined> {
  return readDocument(endpoint, `${endpoint.address.replace(/\/$/, '')}/.well-known/smart-configuration`);
}

/** Needs only a token endpoint. Any other field that is malformed is ignored, not the whole document. */
async function readDocument(endpoint: EmrEndpoint, address: string): Promise<AuthorizationServer | undefined> {
  const fields = Object(await readJson(endpoint, address)) as Record<string, unknown>;
  const token_endpoint = readUrl(fields.token_endpoint);
  if (token_endpoint === undefined) return undefined;
  return {
    token_endpoint,
    authorization_endpoint: readUrl(fields.authorization_endpoint),
    revocation_endpoint: readUrl(fields.revocation_endpoint),
    issuer: readUrl(fields.issuer),
    sends_issuer: fields.authorization_response_iss_parameter_supported === true || undefined,
    scopes: readTexts(fields.scopes_supported),
    auth_methods: readTexts(fields.token_endpoint_auth_methods_supported),
    grant_types: readTexts(fields.grant_types_supported),
    smart_capabilities: readTexts(fields.capabilities),
    algorithms: readTexts(fields.token_endpoint_auth_signing_alg_values_supported),
  };
}

function readUrl(value: unknown): string | undefined {
  return typeof value === 'string' && parseUrl(value) ? value : undefined;
}

/** The texts of a list. Some servers nest it in another list, or send one text with spaces. */
function readTexts(value: unknown): string[] | undefined {
  const texts = [value]
    .flat(Number.POSITIVE_INFINITY)
    .flatMap((each) => (typeof each === 'string' ? each.split(/\s+/) : []))
    .filter((each) => each !== '');
  return texts.length > 0 ? [...new Set(texts)] : undefined;
}

/** Returns undefined if there is no such document. Throws if the server is unavailable. */
async function readJson(endpoint: EmrEndpoint, address: string): Promise<unknown> {
  const base = new URL(endpoint.address);
  try {
    const response = await endpoint.outbound.fetch(address, {
      method: 'GET',
      // An API key goes no further than the EMR.
      headers: { ...(isBelowBase(base, new URL(address)) && endpoint.headers), accept: 'application/json' },
      signal: endpoint.signal,
      timeout_ms: 10_000,
      response_bytes_max: response_limits.sign_in.bytes_max,
    });
    const { status } = response;
    if (status === 429 || status >= 500)
      throw new EmrFailure('unavailable', `The EMR responded with an error (${status}).`);
    const parsed = status === 200 ? await parseResponse(response, 'sign_in') : undefined;
    return parsed && 'json' in parsed ? parsed.json : undefined;
  } catch (error) {
    if (error instanceof OutboundFailure) throw noResponse('The EMR', error, 'unavailable');
    throw error;
  }
}

const oauth_uris = 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris';

function readOauthUris(statement: fhir.CapabilityStatement): AuthorizationServer | undefined {
  const security = statement.rest?.[0]?.security?.extension?.find((each) => each?.url === oauth_uris)?.extension ?? [];
  const uri = (name: string) => security.find((each) => each?.url === name)?.valueUri;
  const token_endpoint = readUrl(uri('token'));
  if (token_endpoint === undefined) return undefined;
  return {
    token_endpoint,
    authorization_endpoint: readUrl(uri('authorize')),
    revocation_endpoint: readUrl(uri('revoke')),
  };
}

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
    explainUntrusted(endpoint, 'token endpoint', pins?.token_endpoint, authority.token_endpoint) ??
    (page
      ? explainUntrusted(endpoint, 'sign-in page', pins?.authorization_endpoint, authority.authorization_endpoint ?? '')
      : undefined);
  if (reason !== undefined) throw new EmrFailure(kind, reason);
}

/** The endpoint that the server names and an EMR app does not allow, if there is one. */
export function unexpectedEndpoint(endpoint: EmrEndpoint, authority: AuthorizationServer): string | undefined {
  const { address, pins } = endpoint;
  if (!pins) return undefined;
  const { token_endpoint, authorization_endpoint } = authority;
  if (!isPinned(pins.token_endpoint, address, token_endpoint, pins.tenant_path))
    return describeEndpoint(token_endpoint);
  const pin = pins.authorization_endpoint;
  if (pin === null || authorization_endpoint === undefined) return undefined;
  return isPinned(pin, address, authorization_endpoint, pins.tenant_path)
    ? undefined
    : describeEndpoint(authorization_endpoint);
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
  const named = `The server names the revocation endpoint ${describeEndpoint(authority.revocation_endpoint ?? '')}`;
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

function explainUntrusted(
  { address, pins }: EmrEndpoint,
  what: string,
  pin: string | null | undefined,
  endpoint: string,
): string | undefined {
  if (isPinned(pin ?? same_host, address, endpoint, pins?.tenant_path)) return undefined;
  const named = `The server names the ${what} ${describeEndpoint(endpoint)}`;
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
function describeEndpoint(endpoint: string): string {
  const url = parseUrl(endpoint);
  return url ? `${url.origin}${url.pathname}`.slice(0, 200) : '(none)';
}
