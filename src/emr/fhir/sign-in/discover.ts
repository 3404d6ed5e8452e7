import type * as fhir from 'fhir/r4.js';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { OutboundFailure } from '../../../platform/security/outbound.ts';
import { noResponse } from '../../callFailures.ts';
import { type EmrEndpoint, EmrFailure } from '../../connector.ts';
import { jsonOf, response_limits } from '../../responses.ts';
import { call, type FhirResponse } from '../transport/call.ts';
import { urlOf } from '../transport/search.ts';

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
  /** The server grants a service what it is registered for, and only if no scope is named. */
  unscoped?: boolean | undefined;
};
export type SecretMethod = 'client_secret_basic' | 'client_secret_post';

/** The server's capability statement. `closed`: it requires a token. */
export type Statement = { statement: fhir.CapabilityStatement } | { closed: true };

/** Reads the capability statement. Fails if this is not a FHIR server, because it must not receive a secret. */
export async function readCapabilityStatement(endpoint: EmrEndpoint, access_token?: string): Promise<Statement> {
  const url = urlOf(new URL(endpoint.address), 'metadata');
  // With a token, this was a FHIR server when the token was issued: the page is a proxy's, and temporary.
  const returns_404_page = access_token === undefined;
  const response = await call(endpoint, { method: 'GET', url, returns: 'statement', returns_404_page }, access_token);
  if (access_token === undefined && (response.status === 401 || response.status === 403)) return { closed: true };
  return { statement: capabilityStatementIn(response) };
}

export function capabilityStatementIn({ status, resource }: FhirResponse): fhir.CapabilityStatement {
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
  const in_statement = 'statement' in stated ? oauthUris(stated.statement) : undefined;
  if (in_statement) return in_statement;
  const base = endpoint.address.replace(/\/$/, '');
  const { origin, pathname } = new URL(base);
  const path = pathname === '/' ? '' : pathname;
  for (const address of [
    `${base}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration`,
  ]) {
    const found = await readDocument(endpoint, address);
    if (found) return found;
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
  const token_endpoint = urlIn(fields.token_endpoint);
  if (token_endpoint === undefined) return undefined;
  return {
    token_endpoint,
    authorization_endpoint: urlIn(fields.authorization_endpoint),
    revocation_endpoint: urlIn(fields.revocation_endpoint),
    issuer: urlIn(fields.issuer),
    sends_issuer: fields.authorization_response_iss_parameter_supported === true || undefined,
    scopes: textsIn(fields.scopes_supported),
    auth_methods: textsIn(fields.token_endpoint_auth_methods_supported),
    grant_types: textsIn(fields.grant_types_supported),
    smart_capabilities: textsIn(fields.capabilities),
    algorithms: textsIn(fields.token_endpoint_auth_signing_alg_values_supported),
  };
}

function urlIn(value: unknown): string | undefined {
  return typeof value === 'string' && parseUrl(value) ? value : undefined;
}

/** The texts of a list. Some servers nest it in another list, or send one text with spaces. */
function textsIn(value: unknown): string[] | undefined {
  const texts = [value]
    .flat(Number.POSITIVE_INFINITY)
    .flatMap((each) => (typeof each === 'string' ? each.split(/\s+/) : []))
    .filter((each) => each !== '');
  return texts.length > 0 ? [...new Set(texts)] : undefined;
}

/** Returns undefined if there is no such document. Throws if the server is unavailable. */
async function readJson(endpoint: EmrEndpoint, address: string): Promise<unknown> {
  try {
    const response = await endpoint.outbound.fetch(address, {
      method: 'GET',
      headers: { accept: 'application/json' },
      signal: endpoint.signal,
      timeout_ms: 10_000,
      response_bytes_max: response_limits.sign_in.bytes_max,
    });
    const { status } = response;
    if (status === 429 || status >= 500)
      throw new EmrFailure('unavailable', `The EMR responded with an error (${status}).`);
    const parsed = status === 200 ? await jsonOf(response, 'sign_in') : undefined;
    return parsed && 'json' in parsed ? parsed.json : undefined;
  } catch (error) {
    if (error instanceof OutboundFailure) throw noResponse('The EMR', error, 'unavailable');
    throw error;
  }
}

const oauth_uris = 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris';

function oauthUris(statement: fhir.CapabilityStatement): AuthorizationServer | undefined {
  const security = statement.rest?.[0]?.security?.extension?.find((each) => each?.url === oauth_uris)?.extension ?? [];
  const uri = (name: string) => security.find((each) => each?.url === name)?.valueUri;
  const token_endpoint = urlIn(uri('token'));
  if (token_endpoint === undefined) return undefined;
  return { token_endpoint, authorization_endpoint: urlIn(uri('authorize')), revocation_endpoint: urlIn(uri('revoke')) };
}
