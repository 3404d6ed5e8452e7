import type * as fhir from 'fhir/r4.js';
import * as oauth from 'openid-client';
import { isZone } from '../../../platform/time/zones.ts';
import type { Access, Credentials, EmrEndpoint, Grant, PageSignIn, SignIn, SignInRefusal } from '../../connector.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { supportedCapabilities } from '../operations.ts';
import { guessMrnRule, readPatients } from '../patients/mrn.ts';
import { call } from '../transport/call.ts';
import { type ServerFacts, toCapabilities, toServerFacts } from '../transport/capabilities.ts';
import { samplePlanned } from '../transport/paramProbes.ts';
import { buildUrl, type SendRequest } from '../transport/server.ts';
import { first, list, text } from '../values.ts';
import {
  type AuthorizationServer,
  discoverAuthorization,
  readCapabilityStatement,
  requireIssuer,
  requireTrusted,
  requireTrustedRevocation,
  type Statement,
} from './authorizationServer.ts';
import { collectSteps } from './connectionReport.ts';
import { probeServer } from './probeServer.ts';
import { toRefusal } from './refusals.ts';
import { limitToScopes, scopesFor } from './signInWays.ts';
import { exchangeCode, oauthConfiguration, requestTokens, revokeToken, type Tokens, toGrant } from './tokens.ts';

/** Signs in the chosen way and reads what the server supports within the granted scopes. */
export async function signIn(
  at: EmrEndpoint,
  credentials: Credentials,
  _one_time_code?: string,
  page_grant?: Grant,
): Promise<SignIn> {
  const { endpoint } = collectSteps(at, page_grant?.steps);
  const stated = await readCapabilityStatement(endpoint);
  const outcome = await obtainTokens(endpoint, credentials, stated, page_grant);
  if ('outcome' in outcome) return outcome;
  const { tokens, authority } = outcome;
  const readable = 'statement' in stated ? stated : await readCapabilityStatement(endpoint, tokens.access_token);
  if (!('statement' in readable)) return tokenRefused(credentials);
  const facts = limitToScopes(toServerFacts(readable.statement), tokens.scope);
  const access = await tryToken(endpoint, facts, tokens.access_token);
  if (access === 'token_refused') return tokenRefused(credentials);
  if (access === 'no_records') return { outcome: 'refused', reason: 'no_records' };
  const base = new URL(endpoint.address);
  const request: SendRequest = (input) => call(endpoint, input, tokens.access_token);
  const { bulk_group } = endpoint;
  const probed = await probeServer(base, facts, request, { deadline_ms: Date.now() + probe_ms_max, bulk_group });
  const server = { base, request, capabilities: toCapabilities(probed) };
  const patients = await samplePlanned(server, 'Patient', server.capabilities.listPlan('Patient')?.sample);
  return {
    outcome: 'signed_in',
    grant: toGrant(tokens, authority, JSON.stringify(probed)),
    user: await toUser(endpoint, tokens, credentials),
    timezone: await findTimezone(endpoint, probed, tokens.access_token),
    capabilities: supportedCapabilities(toCapabilities(probed)),
    mrn_guess: guessMrnRule(readPatients(patients)),
  };
}

/** A person waits for the sign-in. */
const probe_ms_max = 6000;

type Obtained = { tokens: Tokens; authority?: AuthorizationServer };

async function obtainTokens(
  endpoint: EmrEndpoint,
  credentials: Credentials,
  stated: Statement,
  page_grant: Grant | undefined,
): Promise<Obtained | SignInRefusal> {
  const { way, bearer_token = '' } = credentials;
  if (way === 'bearer_token') {
    // Pasted tokens often end with a line break.
    return { tokens: { access_token: bearer_token.trim() } };
  }
  if (way === 'authorization_code') {
    if (!page_grant?.access_token) return { outcome: 'refused', reason: 'access' };
    const { authority = '{}', access_token, steps: _, ...rest } = page_grant;
    // Both were written by pageSignIn from values of these types.
    return { tokens: { ...rest, access_token }, authority: JSON.parse(authority) };
  }
  const authority = await discoverAuthorization(endpoint, stated);
  const outcome = await requestTokens({ endpoint, authority, credentials });
  return 'refused' in outcome ? toRefusal(outcome, credentials, authority) : outcome;
}

/**
 * A rejected token that someone typed is a wrong credential. One that the server has just issued is not the person's
 * fault.
 */
function tokenRefused({ way }: Credentials): SignInRefusal {
  if (way === 'bearer_token') return { outcome: 'refused', reason: 'access' };
  throw new EmrFailure('refused', 'The server issued a token and then did not accept it.');
}

/** Servers may allow an account some types only. One that can be read is enough to link it. */
const types_tried_max = 8;

/** A token is only known to be valid once the server has accepted it. */
async function tryToken(
  endpoint: EmrEndpoint,
  facts: ServerFacts,
  access_token: string,
): Promise<'accepted' | 'token_refused' | 'no_records'> {
  const capabilities = toCapabilities(facts);
  const types = new Set(['Patient', 'Practitioner', 'Organization', 'Location', ...Object.keys(facts.types)]);
  const searchable = [...types].filter((type) => capabilities.interactions(type).has('search-type'));
  for (const type of searchable.slice(0, types_tried_max)) {
    const { status } = await call(endpoint, { method: 'GET', url: searchUrl(endpoint, type, 1) }, access_token);
    if (status === 401) return 'token_refused';
    if (status !== 403) return 'accepted';
  }
  return 'no_records';
}

/**
 * The person, if the server identifies them: by their record, or by their id at the authorization server. Otherwise our
 * client id, or 'bearer', which do not distinguish people.
 */
async function toUser(
  endpoint: EmrEndpoint,
  tokens: Tokens,
  { way, client_id }: Credentials,
): Promise<{ ehr_id: string; name: string }> {
  // A service signs in by its client id. Only a person's token says more.
  const by_person = way === 'authorization_code' || way === 'bearer_token';
  const claims = by_person ? readClaims(tokens.access_token) : {};
  const { fhir_user = claims.fhir_user, subject = claims.subject } = by_person ? tokens : {};
  const [, type = '', id = ''] = /([A-Z][A-Za-z]+)\/([A-Za-z0-9.-]{1,64})$/.exec(fhir_user ?? '') ?? [];
  const fallback = {
    ehr_id: subject ? `sub:${subject}` : (client_id ?? 'bearer'),
    name: tokens.user_name ?? client_id ?? 'FHIR',
  };
  if (id === '') return fallback;
  const response = await call(
    endpoint,
    { method: 'GET', url: buildUrl(new URL(endpoint.address), type, id) },
    tokens.access_token,
  );
  const [name] = (response.resource as { name?: fhir.HumanName[] } | undefined)?.name ?? [];
  const full_name = name?.text ?? [...(name?.given ?? []), name?.family].filter(Boolean).join(' ');
  return { ehr_id: `${type}/${id}`, name: full_name || fallback.name };
}

/**
 * Who an access token is for, if it is a JWT. Its signature is the server's to check: it has accepted the token by now.
 */
export function readClaims(access_token: string): { fhir_user?: string; subject?: string } {
  try {
    const payload: unknown = JSON.parse(Buffer.from(access_token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const { fhirUser, sub } = Object(payload) as { fhirUser?: unknown; sub?: unknown };
    return {
      ...(typeof fhirUser === 'string' && { fhir_user: fhirUser }),
      ...(typeof sub === 'string' && sub !== '' && { subject: sub }),
    };
  } catch {
    return {};
  }
}

const zone_extension = 'http://hl7.org/fhir/StructureDefinition/timezone';

/**
 * The time zone of the practice: the standard extension on a Location, else the zone of its state. Weekly hours have no
 * zone, so UTC would offer them at night. Returns undefined if neither is known.
 */
async function findTimezone(
  endpoint: EmrEndpoint,
  facts: ServerFacts,
  access_token: string,
): Promise<string | undefined> {
  const capabilities = toCapabilities(facts);
  if (!capabilities.interactions('Location').has('search-type')) return undefined;
  const url = searchUrl(endpoint, 'Location', 50);
  if (!capabilities.usesShaping('Location', '_count')) url.search = '';
  for (const [name, values] of Object.entries(capabilities.listPlan('Location')?.sample ?? {})) {
    for (const value of [values].flat()) url.searchParams.append(name, value);
  }
  const request = { method: 'GET', url, returns: 'list' } as const;
  const response = await call(endpoint, request, access_token);
  const entries = response.resource?.resourceType === 'Bundle' ? (response.resource.entry ?? []) : [];
  const locations = entries.map((entry) => (entry?.resource ?? {}) as fhir.Location);
  for (const { extension } of locations) {
    const zone = list(extension).find(({ url }) => url === zone_extension)?.valueCode;
    if (zone !== undefined && isZone(zone)) return zone;
  }
  const active = locations.filter(({ status }) => (status ?? 'active') === 'active');
  return first(active, ({ address }) => findStateZone(text(address?.state)) ?? null) ?? undefined;
}

/**
 * The time zone of a US state, used if a practice does not publish its zone. Thirteen states have two zones: this is
 * the one with the larger population. A practice in the other one can set the standard extension on a Location.
 */
export function findStateZone(state: string | null): string | undefined {
  const code = state?.toUpperCase() ?? '';
  return Object.entries(states).find(([, codes]) => codes.split(' ').includes(code))?.[0];
}

const states: Record<string, string> = {
  'America/New_York': 'CT DC DE FL GA IN KY MA MD ME MI NC NH NJ NY OH PA RI SC VA VT WV',
  'America/Chicago': 'AL AR IA IL KS LA MN MO MS ND NE OK SD TN TX WI',
  'America/Denver': 'CO ID MT NM UT WY',
  'America/Phoenix': 'AZ',
  'America/Los_Angeles': 'CA NV OR WA',
  'America/Anchorage': 'AK',
  'Pacific/Honolulu': 'HI',
  'America/Puerto_Rico': 'PR VI',
  'Pacific/Guam': 'GU MP',
  'Pacific/Pago_Pago': 'AS',
};

function searchUrl(endpoint: EmrEndpoint, type: string, count: number): URL {
  const url = buildUrl(new URL(endpoint.address), type);
  url.searchParams.set('_count', String(count));
  return url;
}

/**
 * Authorization code with PKCE. The verifier stays on our side, and the code is useless without it. `chooseScopes`: the
 * scopes to request, of those that the server lists.
 */
export const createPageSignIn = (chooseScopes: (supported: readonly string[] | undefined) => string): PageSignIn => ({
  start: async (at, credentials, { return_address, state }) => {
    const { endpoint, steps, add } = collectSteps(at);
    const authority = await discoverAuthorization(endpoint, await readCapabilityStatement(endpoint));
    const { authorization_endpoint } = authority;
    if (!authorization_endpoint) {
      throw new EmrFailure('refused', 'The server has no sign-in page. Choose another way to sign in.');
    }
    requireTrusted(endpoint, authority, { page: true });
    const verifier = oauth.randomPKCECodeVerifier();
    const supported = chooseScopes(authority.scopes);
    const scope = endpoint.scope ?? (authority.issuer ? supported : withoutIdentity(supported));
    const nonce = authority.issuer && scope.split(' ').includes('openid') ? oauth.randomNonce() : undefined;
    const url = oauth.buildAuthorizationUrl(oauthConfiguration({ endpoint, authority, credentials }), {
      redirect_uri: return_address,
      scope,
      state,
      ...(nonce && { nonce }),
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      // SMART: the FHIR server that the token is for.
      aud: endpoint.address,
    });
    // A password is entered there, so https is required unless the server itself uses http (a sandbox).
    if (!['https:', new URL(endpoint.address).protocol].includes(url.protocol)) {
      throw new EmrFailure('refused', 'The server’s sign-in page does not use https.');
    }
    const note = `Opened in the browser. Scopes requested: ${scope}`;
    const request = `GET ${url.origin}${url.pathname}`;
    add({ stage: 'sign_in', request, status: null, duration_ms: 0, outcome: 'ok', note });
    const pending = { verifier, state, scope, ...(nonce && { nonce }), authority: JSON.stringify(authority) };
    return { url: url.href, pending: { ...pending, steps: steps() } };
  },
  finish: async (at, credentials, pending, returned) => {
    const { endpoint, steps, add } = collectSteps(at, pending.steps);
    // Written by `start` from a value of this type.
    const authority: AuthorizationServer = JSON.parse(pending.authority ?? '{}');
    // Again, because the owner may have changed the app while the person was on the page.
    requireTrusted(endpoint, authority, { page: true });
    requireIssuer(endpoint, authority, returned);
    // Checked above. openid-client would compare it with an issuer that may be on another host.
    returned.searchParams.delete('iss');
    const error = returned.searchParams.get('error');
    if (error !== null) {
      const request = `GET ${returned.origin}${returned.pathname}`;
      add({ stage: 'sign_in', request, status: null, duration_ms: 0, outcome: 'refused', note: error.slice(0, 100) });
    }
    const { verifier = '', state = '', nonce, scope = '' } = pending;
    const outcome = await exchangeCode({ endpoint, authority, credentials }, returned, { verifier, state, nonce });
    if (!('refused' in outcome)) {
      const { tokens } = outcome;
      return {
        outcome: 'signed_in',
        grant: { ...tokens, authority: JSON.stringify(outcome.authority), steps: steps() },
      };
    }
    if (outcome.refused === 'access_denied') return { outcome: 'refused', reason: 'person' };
    // The code: used, expired, or of another sign-in.
    if (outcome.refused === 'invalid_grant') return { outcome: 'refused', reason: 'expired' };
    return toRefusal({ ...outcome, scopes: scope }, credentials, authority);
  },
});

export const pageSignIn = createPageSignIn((supported) => scopesFor('user', supported));

/** An identity token cannot be verified without knowing its issuer, so none is requested. */
function withoutIdentity(scope: string): string {
  return scope
    .split(' ')
    .filter((each) => each !== 'openid' && each !== 'fhirUser')
    .join(' ');
}

/**
 * Revokes the refresh token and the access token, if the server publishes a revocation endpoint. Throws if that is not
 * trusted. A bearer token was issued to someone else, and only they can revoke it.
 */
export async function signOut(
  endpoint: EmrEndpoint,
  { credentials, grant }: Pick<Access, 'credentials' | 'grant'>,
): Promise<boolean> {
  if (!grant.authority) return false;
  // Written by signIn from a value of this type.
  const authority: AuthorizationServer = JSON.parse(grant.authority);
  if (!authority.revocation_endpoint) return false;
  requireTrustedRevocation(endpoint, authority);
  for (const name of ['refresh_token', 'access_token'] as const) {
    const token = grant[name];
    if (token) await revokeToken({ endpoint, authority, credentials }, token, name);
  }
  return true;
}
